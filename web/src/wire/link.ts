// A tab's end of the event streams: follows topics through the shared hub and says how the connection is.
import { Hub, type News, type Topic, type Wish } from "./hub";
import { pageKey } from "./session";
import type { Numbered, StreamStatus } from "./stream";

type Listener = {
  onEvents: (events: Numbered[]) => void;
  onStatus?: ((status: StreamStatus) => void) | undefined;
  onHint?: () => void;
};

export class Link {
  #send: (wish: Wish) => void;
  #listeners = new Map<Topic, Listener>();

  constructor(connect: (tell: (news: News) => void) => (wish: Wish) => void = connected) {
    this.#send = connect((news) => this.#hear(news));
  }

  /** Every event of the topic after this number, once and in order, until the returned function is called. */
  follow(topic: Topic, after: number | null, listener: Listener): () => void {
    this.#listeners.set(topic, listener);
    this.#send({ do: "follow", topic, after, pageKey: pageKey() });
    return () => {
      if (this.#listeners.get(topic) !== listener) return;
      this.#listeners.delete(topic);
      this.#send({ do: "leave", topic });
    };
  }

  nudge(): void {
    this.#send({ do: "nudge" });
  }

  close(): void {
    this.#send({ do: "bye" });
  }

  #hear(news: News): void {
    const listener = this.#listeners.get(news.topic);
    switch (news.is) {
      case "events":
        return listener?.onEvents(news.events);
      case "hint":
        return listener?.onHint?.();
      case "status":
        return listener?.onStatus?.(news.status);
      default: {
        const unreachable: never = news;
        return unreachable;
      }
    }
  }
}

function connected(tell: (news: News) => void): (wish: Wish) => void {
  if (typeof SharedWorker === "undefined") return ownHub(tell);
  try {
    const worker = new SharedWorker(new URL("./hub.worker.ts", import.meta.url), {
      type: "module",
      name: "anycowork events",
    });
    worker.port.onmessage = ({ data }: MessageEvent<News>) => tell(data);
    worker.port.start();
    return (wish) => worker.port.postMessage(wish);
  } catch {
    return ownHub(tell);
  }
}

function ownHub(tell: (news: News) => void): (wish: Wish) => void {
  const hub = new Hub();
  return (wish) => hub.hear(tell, wish);
}
