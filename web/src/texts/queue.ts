// Texts of messages that wait while the agent works.
import { translated } from "./language";

export const en = {
  queuedMessages: "Queued messages",
  sentWhenTheAgentHasFinished: "Sent when the agent has finished",
  held: "Held: the last turn did not finish",
  steers: "Given to the agent after this step",
  edit: "Edit",
  remove: "Remove",
  sendNow: "Send now",
  save: "Save",
  cancel: "Cancel",
  queuedMessage: "Queued message",
  queue: "Queue",
  queueEnter: "Queue: sent when the agent has finished (Enter)",
  steer: "Steer: give it to the agent after this step (Ctrl+Enter)",
  theAgentIsWorking:
    "The agent is working. Enter queues your message, Ctrl+Enter gives it to the agent after this step.",
};

export type Texts = typeof en;
export const t = translated("queue", en);
