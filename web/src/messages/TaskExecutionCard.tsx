import { Hammer } from "lucide-react";
import { t } from "../texts/messages";
import type { Message } from "../wire/nouns";
import { TaskFrame } from "./TaskFrame";

export function TaskExecutionCard({ message }: { message: Message }) {
  return <TaskFrame icon={<Hammer size={15} aria-hidden />} words={t.workingOnATask} message={message} />;
}
