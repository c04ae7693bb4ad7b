// Texts of pushed notifications. Their worker knows no page, so it is told the language and reads both from here.

export const en = {
  waits: {
    approval: "An approval waits for you.",
    question: "A question waits for you.",
    conflict: "A conflict waits for you.",
    plan: "A plan waits for you.",
    review: "A review waits for you.",
    limit: "A limit was reached.",
    continue: "Work has stopped.",
    test: "This is a test.",
  },
  several: (count: number) => `${count} decisions wait for you.`,
  other: "Something waits for you.",
};

export type Texts = typeof en;
