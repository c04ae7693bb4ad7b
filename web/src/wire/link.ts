// A tab's end of the event streams: follows topics through the shared hub and says how the connection is. A tab that is hidden gives its
// chat's connection away and catches up when it is seen again; a worker that does not answer is replaced by a hub in the tab itself.
import { ALL, Hub, type News, type Topic, type Wish } from "./hub";
import { pageKey } from "./session";
import type { Numbered, StreamStatus } from "./stream";

type Listener = {
  onEvents: (events: Numbered[]) => void;
  onStatus?: ((status: StreamStatus) => void) | undefined;
  onHint?: () => void;
};

interface Followed {
  listener: Listener;
  after: number | null;
}

type Send = (wish: Wish) => void;
type Tell = (news: News) => void;
/** How wishes reach a hub, whose news are told; `lost` is called where none can be had. */
export type Connect = (tell: Tell, lost: () => void) => Send;

const PATIENCE_MS = 15_000; // a hub answers each wish at once

export class Link {
  #send: Send;
  #topics = new Map<Topic, Followed>();
  #silent: ReturnType<typeof setTimeout> | undefined;
  #isAway = document.hidden;
  #isShared: boolean;

  constructor(connect: Connect | null = typeof SharedWorker === "undefined" ? null : sharedHub) {
    this.#isShared = connect !== null;
    this.#send = this.#connect(connect ?? ownHub);
  }

  /** Every event of the topic after this number, once and in order, until the returned function is called. */
  follow(topic: Topic, after: number | null, listener: Listener): () => void {
    const followed = { listener, after };
    this.#topics.set(topic, followed);
    if (this.#isWanted(topic)) this.#ask(topic, followed);
    return () => {
      if (this.#topics.get(topic) !== followed) return;
      this.#topics.delete(topic);
      this.#send({ do: "leave", topic });
    };
  }

  /** The tab is looked at again, or its network is back. */
  nudge(): void {
    this.#expect({ do: "nudge" });
  }

  /** The tab is no longer looked at. */
  hide(): void {
    this.#isAway = true;
    for (const topic of this.#topics.keys()) if (!this.#isWanted(topic)) this.#send({ do: "leave", topic });
  }

  /** It is looked at again, or comes back as it was left. */
  show(): void {
    const left = this.#isAway ? [...this.#topics].filter(([topic]) => !this.#isWanted(topic)) : [];
    this.#isAway = false;
    for (const [topic, followed] of left) this.#ask(topic, followed);
    this.nudge();
  }

  close(): void {
    clearTimeout(this.#silent);
    this.#send({ do: "bye" });
  }

  /** After `close`: a page that the browser had kept. */
  reopen(): void {
    this.#topics.forEach((followed, topic) => this.#isWanted(topic) && this.#ask(topic, followed));
  }

  #connect(connect: Connect): Send {
    const send: Send = connect(
      (news) => this.#send === send && this.#hear(news),
      () => this.#send === send && this.#replace(),
    );
    return send;
  }

  /** What was told of all chats in a tab's own hub nobody sees while the tab is hidden; the shared one tells it to others, too. */
  #isWanted(topic: Topic): boolean {
    return !this.#isAway || (topic === ALL && this.#isShared);
  }

  #ask(topic: Topic, { after }: Followed): void {
    this.#expect({ do: "follow", topic, after, pageKey: pageKey() });
  }

  #expect(wish: Wish): void {
    this.#send(wish);
    if (this.#isShared) this.#silent ??= setTimeout(() => this.#replace(), PATIENCE_MS);
  }

  #replace(): void {
    this.close();
    this.#isShared = false;
    this.#send = this.#connect(ownHub);
    this.reopen();
  }

  #hear(news: News): void {
    clearTimeout(this.#silent);
    this.#silent = undefined;
    if (news.is === "here") return;
    const followed = this.#topics.get(news.topic);
    switch (news.is) {
      case "events":
        if (followed && news.topic !== ALL) followed.after = news.events.at(-1)?.number ?? followed.after;
        return followed?.listener.onEvents(news.events);
      case "hint":
        return followed?.listener.onHint?.();
      case "status":
        return followed?.listener.onStatus?.(news.status);
      default: {
        const unreachable: never = news;
        return unreachable;
      }
    }
  }
}

function sharedHub(tell: Tell, lost: () => void): Send {
  try {
    const worker = new SharedWorker(new URL("./hub.worker.ts", import.meta.url), {
      type: "module",
      name: "anycowork events",
    });
    worker.onerror = lost;
    worker.port.onmessage = ({ data }: MessageEvent<News>) => tell(data);
    worker.port.start();
    return (wish) => worker.port.postMessage(wish);
  } catch {
    queueMicrotask(lost); // the browser lets this page have none
    return () => {};
  }
}

function ownHub(tell: Tell): Send {
  const hub = new Hub();
  return (wish) => hub.hear(tell, wish);
}
