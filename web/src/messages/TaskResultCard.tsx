import { Flag } from "lucide-react";
import { t } from "../texts/messages";
import { loose, type Message, text } from "../wire/nouns";
import { TaskFrame } from "./TaskFrame";

export function TaskResultCard({ message }: { message: Message }) {
  const summary = text(loose(message.payload)["summary"]) || summaryIn(message.content);
  return <TaskFrame icon={<Flag size={15} aria-hidden />} words={t.taskResult} message={message} summary={summary} />;
}

/** A worker reports in JSON; what it says in words is the summary. */
function summaryIn(content: string): string {
  try {
    return text(loose(JSON.parse(content))["summary"]);
  } catch {
    return "";
  }
}
