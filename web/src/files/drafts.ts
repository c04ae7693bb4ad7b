// What a person typed into a file and has not saved: kept until the page is left, whatever is opened meanwhile.

interface FileDraft {
  text: string;
  /** The hash of the content that was edited. */
  sha256: string | null;
}

const drafts = new Map<string, FileDraft>();
const keyOf = (chatId: string, path: string) => `${chatId}\n${path}`;

export function draftOf(chatId: string, path: string): FileDraft | null {
  return drafts.get(keyOf(chatId, path)) ?? null;
}

export function keepFileDraft(chatId: string, path: string, draft: FileDraft | null): void {
  if (draft) drafts.set(keyOf(chatId, path), draft);
  else drafts.delete(keyOf(chatId, path));
}
