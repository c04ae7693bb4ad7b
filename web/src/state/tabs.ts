// What one tab did that no event tells of (a title, a model, a chat that is gone): the other tabs of this browser hear of it.

const NAME = "anycowork chats";

export function tellTabs(): void {
  if (typeof BroadcastChannel === "undefined") return;
  const channel = new BroadcastChannel(NAME);
  channel.postMessage("changed");
  channel.close();
}

/** Until the returned function is called. */
export function hearTabs(onNews: () => void): () => void {
  if (typeof BroadcastChannel === "undefined") return () => {};
  const channel = new BroadcastChannel(NAME);
  channel.onmessage = onNews;
  return () => channel.close();
}
