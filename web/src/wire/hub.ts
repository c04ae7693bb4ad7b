// One stream per topic for any number of readers: it lives in a worker that all tabs share, or in the tab itself where there is none.
// Each reader has its own cursor, so that nobody gets an event twice, also when a stream is opened again further back for someone else.
import { pageKeyHeaders } from "./session";
import { type Numbered, Stream, type StreamOptions, type StreamStatus } from "./stream";

/** A chat's id, or ALL for the sidebar's events of every chat. */
export type Topic = string;
export const ALL: Topic = "*";

export type Wish =
  | { do: "follow"; topic: Topic; after: number | null; pageKey: string | null }
  | { do: "leave"; topic: Topic }
  | { do: "nudge" }
  | { do: "bye" };

export type News =
  | { is: "events"; topic: Topic; events: Numbered[] }
  | { is: "hint"; topic: Topic }
  | { is: "status"; topic: Topic; status: StreamStatus };

export type Tell = (news: News) => void;

interface Followed {
  stream: Stream;
  status: StreamStatus;
  cursors: Map<Tell, number | null>;
}

type OpenStream = (options: StreamOptions) => Stream;

export class Hub {
  #topics = new Map<Topic, Followed>();
  #pageKey: string | null = null; // told by the tabs: a shared worker cannot read the page's storage

  constructor(private readonly open: OpenStream = (options) => new Stream(options)) {}

  hear(tell: Tell, wish: Wish): void {
    switch (wish.do) {
      case "follow":
        this.#pageKey = wish.pageKey;
        return this.#follow(tell, wish.topic, wish.after);
      case "leave":
        return this.#leave(tell, wish.topic);
      case "nudge":
        return this.#topics.forEach(({ stream }) => stream.nudge());
      case "bye":
        return [...this.#topics.keys()].forEach((topic) => this.#leave(tell, topic));
      default: {
        const unreachable: never = wish;
        return unreachable;
      }
    }
  }

  #follow(tell: Tell, topic: Topic, after: number | null): void {
    const followed = this.#topics.get(topic);
    if (!followed) return this.#start(topic, after, new Map([[tell, after]]));
    followed.cursors.set(tell, after);
    tell({ is: "status", topic, status: followed.status });
    const dead = followed.status === "unauthorized" || followed.status === "gone";
    if (dead || isBehind(after, followed.stream.last)) {
      followed.stream.close();
      this.#start(topic, dead ? earliest([...followed.cursors.values()]) : after, followed.cursors);
    }
  }

  #start(topic: Topic, after: number | null, cursors: Map<Tell, number | null>): void {
    const stream = this.open({
      url: topic === ALL ? "/events" : `/context/${encodeURIComponent(topic)}/events`,
      after,
      headers: () => pageKeyHeaders(this.#pageKey),
      onEvents: (events) => this.#pass(topic, stream, events),
      onStatus: (status) => this.#say(topic, cursors, status),
      onHint: () => cursors.forEach((_, tell) => tell({ is: "hint", topic })),
    });
    this.#topics.set(topic, { stream, status: "connecting", cursors });
  }

  #pass(topic: Topic, stream: Stream, events: Numbered[]): void {
    const followed = this.#topics.get(topic);
    if (followed?.stream !== stream) return;
    for (const [tell, cursor] of followed.cursors) {
      const fresh = cursor === null ? events : events.filter(({ number }) => number > cursor);
      const last = fresh.at(-1);
      if (!last) continue;
      followed.cursors.set(tell, last.number);
      tell({ is: "events", topic, events: fresh });
    }
  }

  #say(topic: Topic, cursors: Map<Tell, number | null>, status: StreamStatus): void {
    const followed = this.#topics.get(topic);
    if (followed?.cursors === cursors) followed.status = status;
    for (const tell of cursors.keys()) tell({ is: "status", topic, status });
  }

  #leave(tell: Tell, topic: Topic): void {
    const followed = this.#topics.get(topic);
    if (!followed?.cursors.delete(tell) || followed.cursors.size > 0) return;
    followed.stream.close();
    this.#topics.delete(topic);
  }
}

function isBehind(after: number | null, last: number | null): boolean {
  return after !== null && (last === null || after < last);
}

function earliest(cursors: (number | null)[]): number | null {
  const known = cursors.filter((cursor) => cursor !== null);
  return known.length > 0 ? Math.min(...known) : null;
}
