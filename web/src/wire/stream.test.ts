import { expect, it, vi } from "vitest";
import { ALL, Hub, type News } from "./hub";
import { type Numbered, Stream, type StreamOptions } from "./stream";

const line = (number: number) => `id: ${number}\nevent: usage\ndata: {"type":"usage","seq":${number}}\n\n`;

function bodyOf(...chunks: string[]): Response {
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      chunks.forEach((chunk) => controller.enqueue(new TextEncoder().encode(chunk)));
      controller.close();
    },
  });
  return new Response(stream, { status: 200 });
}

function listening(answers: (() => Response | Promise<Response>)[], options: Partial<StreamOptions> = {}) {
  const numbers: number[] = [];
  const statuses: string[] = [];
  const asked: (string | null)[] = [];
  const fetching = vi.fn((_: unknown, init: RequestInit) => {
    asked.push(new Headers(init.headers).get("last-event-id"));
    const answer = answers.shift();
    return answer ? Promise.resolve(answer()) : new Promise<Response>(() => {});
  });
  const stream = new Stream({
    url: "/x",
    after: null,
    onEvents: (events) => numbers.push(...events.map(({ number }) => number)),
    onStatus: (status) => statuses.push(status),
    fetch: fetching as unknown as typeof fetch,
    backoff: () => 0,
    ...options,
  });
  return { stream, numbers, statuses, asked };
}

it("comes back after the last event it saw, and misses nothing", async () => {
  const heard = listening([() => bodyOf(line(1), line(2)), () => bodyOf(line(3))]);
  await vi.waitFor(() => expect(heard.asked).toEqual([null, "2", "3"]));
  expect(heard.numbers).toEqual([1, 2, 3]);
  expect(heard.statuses).toContain("reconnecting");
  heard.stream.close();
});

it("reads events that are cut anywhere", async () => {
  const whole = line(1) + line(2);
  const heard = listening([() => bodyOf(...[...whole])]);
  await vi.waitFor(() => expect(heard.numbers).toEqual([1, 2]));
  heard.stream.close();
});

it("hears the hint that the list of chats changed, and takes no sign of life for one", async () => {
  const onHint = vi.fn();
  const heard = listening([() => bodyOf(": keep-alive\n\n", line(1), ": chats\n\n", ": keep-alive\n\n")], { onHint });
  await vi.waitFor(() => expect(heard.numbers).toEqual([1]));
  expect(onHint).toHaveBeenCalledOnce();
  heard.stream.close();
});

it("tries again when the network fails", async () => {
  const heard = listening([() => Promise.reject(new TypeError("down")), () => bodyOf(line(1))]);
  await vi.waitFor(() => expect(heard.numbers).toEqual([1]));
  heard.stream.close();
});

it.each([
  [401, "unauthorized"],
  [404, "gone"],
])("stops at %i and says why", async (status, said) => {
  const heard = listening([() => new Response("", { status })]);
  await vi.waitFor(() => expect(heard.statuses.at(-1)).toBe(said));
  expect(heard.asked).toHaveLength(1);
});

it("comes back by itself when nothing is heard for too long", async () => {
  const never = () => new Response(new ReadableStream(), { status: 200 });
  const heard = listening([never, () => bodyOf(line(1))], { silence: 20 });
  await vi.waitFor(() => expect(heard.numbers).toEqual([1]));
  heard.stream.close();
});

// --- one stream for all tabs

class FakeStream {
  last: number | null;
  closed = false;
  constructor(readonly options: StreamOptions) {
    this.last = options.after;
  }
  say(...numbers: number[]) {
    this.last = numbers.at(-1)!;
    this.options.onEvents(numbers.map((number) => ({ number, event: { seq: number } }) as unknown as Numbered));
  }
  close() {
    this.closed = true;
  }
  nudge() {}
}

function tabs() {
  const streams: FakeStream[] = [];
  const hub = new Hub((options) => {
    const stream = new FakeStream(options);
    streams.push(stream);
    return stream as unknown as Stream;
  });
  const tab = () => {
    const numbers: number[] = [];
    const tell = (news: News) =>
      void (news.is === "events" && numbers.push(...news.events.map(({ number }) => number)));
    return {
      numbers,
      follow: (after: number | null) => hub.hear(tell, { do: "follow", topic: "chat", after, pageKey: null }),
      bye: () => hub.hear(tell, { do: "bye" }),
    };
  };
  return { streams, tab, hub };
}

it("opens one connection for two tabs of one chat, and closes it with the last", () => {
  const { streams, tab } = tabs();
  const [one, two] = [tab(), tab()];
  one.follow(3);
  two.follow(3);
  streams[0]!.say(4, 5);
  expect([streams.length, one.numbers, two.numbers]).toEqual([1, [4, 5], [4, 5]]);
  one.bye();
  expect(streams[0]!.closed).toBe(false);
  two.bye();
  expect(streams[0]!.closed).toBe(true);
});

it("gives a tab that comes from further back everything, and the other nothing twice", () => {
  const { streams, tab } = tabs();
  const [one, two] = [tab(), tab()];
  one.follow(3);
  streams[0]!.say(4, 5);
  two.follow(2);
  expect([streams.length, streams[0]!.closed, streams[1]!.options.after]).toEqual([2, true, 2]);
  streams[1]!.say(3, 4, 5, 6);
  expect([one.numbers, two.numbers]).toEqual([
    [4, 5, 6],
    [3, 4, 5, 6],
  ]);
});

it("reads the events of all chats at their own address", () => {
  const { streams, hub } = tabs();
  hub.hear(() => {}, { do: "follow", topic: ALL, after: null, pageKey: null });
  hub.hear(() => {}, { do: "follow", topic: "a/b", after: 1, pageKey: null });
  expect(streams.map(({ options }) => options.url)).toEqual(["/events", "/context/a%2Fb/events"]);
});

it("sends the page key that a tab told last, also when a stream comes back", () => {
  const { streams, hub } = tabs();
  hub.hear(() => {}, { do: "follow", topic: "a", after: 1, pageKey: "old" });
  expect(streams[0]!.options.headers?.()).toEqual({ "X-AnyCowork-Page-Key": "old" });
  hub.hear(() => {}, { do: "follow", topic: "b", after: 1, pageKey: "new" });
  expect(streams[0]!.options.headers?.()).toEqual({ "X-AnyCowork-Page-Key": "new" });
});
