import { Flag } from "lucide-react";
import { t } from "../texts/messages";
import type { Message } from "../wire/nouns";
import { TaskFrame } from "./TaskFrame";

export function TaskResultCard({ message }: { message: Message }) {
  return <TaskFrame icon={<Flag size={15} aria-hidden />} words={t.taskResult} message={message} />;
}
