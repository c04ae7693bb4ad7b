// Texts of what can be typed besides words: commands, mentions, attached files. And of compacting.
import { translated } from "./language";

export const en = {
  contextFull: "The context is full",
  contextFullAbout:
    "The model cannot be shown all that it did. Compact goes on from a short record of it; Continue goes on with what fits. Nothing is lost.",
  compact: "Compact",
  compactAbout: "Compact the chat, then continue",
  compacted: (count: number) => `Compacted: the model is no longer shown ${count} earlier messages`,
  compactedAbout: "Nothing was deleted. You still see and search everything.",
  toldInstead: "What the model is shown instead",
  undo: "Undo",
};

export type Texts = typeof en;
export const t = translated("composer", en);
