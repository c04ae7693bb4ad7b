// One stream per topic for any number of readers: it lives in a worker that all tabs share, or in the tab itself where there is none.
// Each reader has its own cursor, so that nobody gets an event twice, also when a stream is opened again further back for someone else.
// Where more topics are followed than connections can be had, the streams of chats take turns.
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
  | { is: "here"; topic: null }
  | { is: "status"; topic: Topic; status: StreamStatus };

export type Tell = (news: News) => void;

interface Followed {
  /** null while others have their turn. */
  stream: Stream | null;
  status: StreamStatus;
  liveSince: number | null;
  cursors: Map<Tell, number | null>;
}

// A browser opens six connections to a server, and what else the tabs ask for needs some of them: a seventh request waits for ever.
export const MOST = 4;
export const TURN_MS = 2_000;

type OpenStream = (options: StreamOptions) => Stream;

export class Hub {
  #topics = new Map<Topic, Followed>(); // whose stream was opened last stands last
  #turns: ReturnType<typeof setInterval> | undefined;
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
        this.#topics.forEach(({ stream }) => stream?.nudge());
        return tell({ is: "here", topic: null });
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
    if (!followed) return this.#start(topic, after, new Map([[tell, after]]), "connecting");
    followed.cursors.set(tell, after);
    tell({ is: "status", topic, status: followed.status });
    if (hasEnded(followed) || !followed.stream) return this.#resume(topic, followed);
    if (!isBehind(after, followed.stream.last)) return;
    followed.stream.close();
    this.#start(topic, after, followed.cursors, followed.status);
  }

  #resume(topic: Topic, followed: Followed): void {
    const status = hasEnded(followed) ? "connecting" : followed.status;
    this.#start(topic, earliest([...followed.cursors.values()]), followed.cursors, status);
  }

  #start(topic: Topic, after: number | null, cursors: Map<Tell, number | null>, status: StreamStatus): void {
    this.#topics.delete(topic);
    if (this.#open().length >= MOST) this.#park(this.#open().find(([other]) => other !== ALL));
    const stream = this.open({
      url: topic === ALL ? "/events" : `/context/${encodeURIComponent(topic)}/events`,
      after,
      headers: () => pageKeyHeaders(this.#pageKey),
      onEvents: (events) => this.#pass(topic, stream, events),
      onStatus: (now) => (status === "live" && now === "connecting") || this.#say(topic, cursors, now),
      onHint: () => cursors.forEach((_, tell) => tell({ is: "hint", topic })),
    });
    this.#topics.set(topic, { stream, status, liveSince: null, cursors });
  }

  #open(): [Topic, Followed][] {
    return [...this.#topics].filter(([, followed]) => followed.stream && !hasEnded(followed));
  }

  #park(longest: [Topic, Followed] | undefined): void {
    if (!longest) return;
    longest[1].stream?.close();
    longest[1].stream = null;
    this.#turns ??= setInterval(() => this.#turn(), TURN_MS);
  }

  /** Who waited longest takes the place of who was heard longest, or one that is free. */
  #turn(): void {
    const parked = [...this.#topics].find(([, { stream }]) => !stream);
    if (!parked) {
      clearInterval(this.#turns);
      this.#turns = undefined;
    } else if (this.#open().length < MOST) this.#resume(...parked);
    else {
      const heard = this.#open().find(([topic, { liveSince }]) => topic !== ALL && wasLong(liveSince));
      if (!heard) return;
      this.#park(heard);
      this.#resume(...parked);
    }
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
    if (followed?.cursors === cursors) {
      followed.status = status;
      followed.liveSince = status === "live" ? Date.now() : null;
    }
    for (const tell of cursors.keys()) tell({ is: "status", topic, status });
  }

  #leave(tell: Tell, topic: Topic): void {
    const followed = this.#topics.get(topic);
    if (!followed?.cursors.delete(tell) || followed.cursors.size > 0) return;
    followed.stream?.close();
    this.#topics.delete(topic);
  }
}

function hasEnded({ status }: Followed): boolean {
  return status === "unauthorized" || status === "gone";
}

function wasLong(since: number | null): boolean {
  return since !== null && Date.now() - since >= TURN_MS;
}

function isBehind(after: number | null, last: number | null): boolean {
  return after !== null && (last === null || after < last);
}

function earliest(cursors: (number | null)[]): number | null {
  const known = cursors.filter((cursor) => cursor !== null);
  return known.length > 0 ? Math.min(...known) : null;
}
