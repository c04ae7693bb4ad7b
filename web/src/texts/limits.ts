// Texts of the limits of people and groups.
import { translated } from "./language";

export const en = {
  title: "Limits per day",
  about: "What each person, one person or a group may use on a day (UTC), over chats, jobs and keys.",
  today: "Used today",
  group: (name: string) => `Group ${name}`,
  used: (used: string, limit: string | null) => (limit === null ? used : `${used} of ${limit}`),
  tokens: (count: string) => `${count} tokens`,
  jobs: (count: string) => `${count} jobs`,
  own: "Your limits",
  ownAbout: "What you and your groups may use on a day, over chats, jobs and keys, and what was used today.",
  you: "You",
  groupTogether: (name: string) => `Group ${name}, all members together`,
  dollars: "US dollars today",
  tokensLabel: "Tokens today",
  usedWithoutLimit: (used: string) => `${used}, no limit`,
  unpriced: (count: number) =>
    `${count === 1 ? "1 request counts" : `${count} requests count`} in tokens only: nobody knows the price.`,
  dayEnds: (time: string) => `The day ends at 00:00 UTC: ${time} here. An admin can raise a limit.`,
  who: "Who",
  each: "Each person without limits of their own",
  eachGroup: "Each group without limits of its own",
  newGroup: "A group by name",
  groupName: "Name of the group",
  dollarsADay: "US dollars per day",
  tokensADay: "Tokens per day",
  jobsAtOnce: "Jobs at the same time",
  noLimit: "no limit",
  save: "Save limits",
  saved: "The limits hold from the next request on.",
};

export type Texts = typeof en;
export const t = translated("limits", en);
