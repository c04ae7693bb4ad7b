// German texts of pushed notifications.
import type { Texts } from "../pushed";

export const pushed: Texts = {
  waits: {
    approval: "Eine Freigabe wartet auf Sie.",
    question: "Eine Frage wartet auf Sie.",
    conflict: "Ein Konflikt wartet auf Sie.",
    plan: "Ein Plan wartet auf Sie.",
    review: "Eine Durchsicht wartet auf Sie.",
    limit: "Eine Grenze wurde erreicht.",
    continue: "Die Arbeit ist stehen geblieben.",
    test: "Dies ist ein Test.",
  },
  several: (count) => `${count} Entscheidungen warten auf Sie.`,
  other: "Etwas wartet auf Sie.",
};
