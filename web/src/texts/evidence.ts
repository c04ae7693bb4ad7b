// Texts of what a turn's "done" is worth.
import { translated } from "./language";

export const en = {
  evidence: "Evidence",
  expected: "What was expected",
  checks: "Checks",
  word: { checked: "Checked", self_checked: "Self-checked", claimed: "Claimed", failed: "Failed" },
  meaning: {
    checked: "A check that was there before this turn passed after the last change.",
    self_checked: "A check passed, but this turn wrote or changed it, or could have made it pass without the work.",
    claimed: "Only the agent says that it is done. No check proves it.",
    failed: "Something that was asked for is missing, or a check failed.",
  },
  state: { met: "Met", unmet: "Not met", unknown: "Not known" },
  kind: {
    output: "Create",
    protected: "Leave unchanged:",
    check: "Pass",
    no_change: "Change nothing in",
    read: "Read",
    parses: "Keep valid:",
  },
  exitCode: (code: number | null) => (code === null ? "did not end" : `exit code ${code}`),
  passedBefore: "It passed before the work, too.",
  changedByTurn: (paths: string) => `This turn changed what it runs: ${paths}.`,
  notRun: "Not run, because nothing allows it without asking",
  alwaysAllow: "Always allow here",
  allowed: "Allowed in this folder. It runs when the next turn ends.",
  repeat: "Anyone who has the files can run this check again:",
};

export type Texts = typeof en;
export const t = translated("evidence", en);
