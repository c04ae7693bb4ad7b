// The hub in a worker that all tabs of this browser share: one connection per topic, however many tabs are open.
import { Hub, type Tell, type Wish } from "./hub";

const hub = new Hub();
const scope = globalThis as unknown as { onconnect: (event: MessageEvent) => void }; // the DOM's types know no shared worker's scope

scope.onconnect = (event) => {
  const port = event.ports[0]!;
  const tell: Tell = (news) => port.postMessage(news);
  port.onmessage = ({ data }: MessageEvent<Wish>) => hub.hear(tell, data);
};
