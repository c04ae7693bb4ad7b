// One event stream over fetch: reads, remembers the last number, and comes back after it by itself. Knows nothing of tabs or views.
import { createParser } from "eventsource-parser";
import type { WireEvent } from "./nouns";

export type StreamStatus = "connecting" | "live" | "reconnecting" | "unauthorized" | "gone";

export interface Numbered {
  number: number;
  event: WireEvent;
}

export interface StreamOptions {
  url: string;
  /** null: from now on, where the stream allows it. */
  after: number | null;
  onEvents: (events: Numbered[]) => void;
  onStatus: (status: StreamStatus) => void;
  /** The list of chats is not what it was: read it again. Only the stream of all chats says so. */
  onHint?: () => void;
  /** Asked at every try: a session may have begun anew meanwhile. */
  headers?: () => Record<string, string>;
  fetch?: typeof fetch;
  /** Milliseconds before the nth try; the default grows from 0.3 s to 10 s. */
  backoff?: (attempt: number) => number;
  silence?: number;
}

const HINT = "chats";
const SILENCE_MS = 45_000; // the server gives a sign of life every 15 s

export class Stream {
  #options: StreamOptions;
  #last: number | null;
  #ended = new AbortController();
  #attempt = 0;
  #wake: (() => void) | null = null;

  constructor(options: StreamOptions) {
    this.#options = options;
    this.#last = options.after;
    void this.#run();
  }

  get last(): number | null {
    return this.#last;
  }

  close(): void {
    this.#ended.abort();
    this.#wake?.();
  }

  /** Tries again at once: the network is back, or the tab is looked at again. */
  nudge(): void {
    this.#attempt = 0;
    this.#wake?.();
  }

  async #run(): Promise<void> {
    this.#options.onStatus("connecting");
    while (!this.#ended.signal.aborted) {
      const verdict = await this.#read();
      if (this.#ended.signal.aborted) return;
      if (verdict !== "again") return this.#options.onStatus(verdict);
      this.#options.onStatus("reconnecting");
      await this.#pause();
    }
  }

  async #read(): Promise<"again" | "unauthorized" | "gone"> {
    const patience = new Patience(this.#options.silence ?? SILENCE_MS, this.#ended.signal);
    try {
      const response = await (this.#options.fetch ?? fetch)(this.#options.url, {
        headers: {
          accept: "text/event-stream",
          ...(this.#last === null ? {} : { "last-event-id": String(this.#last) }),
          ...this.#options.headers?.(),
        },
        credentials: "same-origin",
        cache: "no-store",
        signal: patience.signal,
      });
      if (response.status === 401 || response.status === 403) return "unauthorized";
      if (response.status === 404) return "gone";
      if (!response.ok || !response.body) return "again";
      this.#options.onStatus("live");
      await this.#drain(response.body, patience);
    } catch {
      // The network broke, or nothing was heard for too long: both are mended by coming back.
    } finally {
      patience.end();
    }
    return "again";
  }

  async #drain(body: ReadableStream<Uint8Array>, patience: Patience): Promise<void> {
    const decoder = new TextDecoder();
    let batch: Numbered[] = [];
    const parser = createParser({
      onEvent: ({ id, data }) => {
        const number = Number(id);
        const event = parsed(data);
        if (event && Number.isSafeInteger(number)) batch.push({ number, event });
      },
      onComment: (words) => words.trim() === HINT && this.#options.onHint?.(),
    });
    const reader = body.getReader();
    patience.signal.addEventListener("abort", () => void reader.cancel().catch(() => {}), { once: true });
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      this.#attempt = 0;
      patience.renew();
      parser.feed(decoder.decode(value, { stream: true }));
      if (batch.length === 0) continue;
      this.#last = batch[batch.length - 1]!.number;
      this.#options.onEvents(batch);
      batch = [];
    }
  }

  async #pause(): Promise<void> {
    const wait = (this.#options.backoff ?? growing)(this.#attempt++);
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, wait);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#wake = null;
  }
}

/** Aborts when nothing has been heard for a while, or when its owner ends. */
class Patience {
  #controller = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #leave: () => void;

  constructor(
    private readonly silence: number,
    owner: AbortSignal,
  ) {
    this.#leave = () => this.#controller.abort();
    owner.addEventListener("abort", this.#leave, { once: true });
    if (owner.aborted) this.#controller.abort();
    this.renew();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  renew(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#controller.abort(), this.silence);
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#controller.abort();
  }
}

function growing(attempt: number): number {
  const most = Math.min(10_000, 300 * 2 ** attempt);
  return most / 2 + Math.random() * (most / 2); // many tabs and people should not come back at one moment
}

function parsed(data: string): WireEvent | null {
  try {
    const event: unknown = JSON.parse(data);
    return typeof event === "object" && event !== null && "type" in event ? (event as WireEvent) : null;
  } catch {
    return null;
  }
}
