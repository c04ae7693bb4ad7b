// Fixed sentences that the server writes in English. Another language has a text for each, or shows the server's own.
import { translated } from "./language";

/** Sentences that the model reads too, and that people read in other words. */
const FOR_PEOPLE: Record<string, string> = { "Stopped by the person.": "The agent was stopped." };

export const en = {
  sentence: (english: string): string => FOR_PEOPLE[english] ?? english,
  /** Why a request was refused, by the code of the error. */
  refusal: (_code: string, english: string): string => english,
};

export type Texts = typeof en;
export const t = translated("server", en);
