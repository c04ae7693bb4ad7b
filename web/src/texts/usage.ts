// Texts of the page about usage.
import { translated } from "./language";

export const en = {
  page: "Usage and limits",
  title: "Usage",
  about: "What chats and jobs used of their models, from the recorded requests. A price that nobody knows is left out.",
  by: "Summed up by",
  groups: {
    day: "Day",
    model: "Model",
    chat: "Chat",
    job: "Job",
    role: "Role",
    person: "Person",
    group: "Group",
  } as Record<string, string>,
  period: "Period",
  days: (count: number) => `Last ${count} days`,
  always: "All time",
  tokens: "Tokens",
  requests: "Requests",
  cost: "Cost",
  unknown: "unknown",
  nothing: "Nothing was used in this period.",
  noJob: "No job used anything in this period.",
  total: "Total",
  plot: (from: string, to: string, most: string) => `Tokens by day from ${from} to ${to}; the most on one day: ${most}`,
  onDay: (day: string, tokens: string) => `${day}: ${tokens} tokens`,
  prompts: "Read by models",
  answers: "Written by models",
  mostInADay: (tokens: string) => `Most in a day: ${tokens}`,
  more: (shown: number, all: number) => `The first ${shown} of ${all}.`,
  gone: "deleted",
};

export type Texts = typeof en;
export const t = translated("usage", en);
