import { ClipboardList } from "lucide-react";
import { t } from "../texts/messages";
import type { Message } from "../wire/nouns";
import { TaskFrame } from "./TaskFrame";

export function TaskAssignmentCard({ message }: { message: Message }) {
  return <TaskFrame icon={<ClipboardList size={15} aria-hidden />} words={t.task} message={message} />;
}
