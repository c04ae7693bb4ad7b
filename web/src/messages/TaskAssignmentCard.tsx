import { ClipboardList } from "lucide-react";
import type { Message } from "../wire/nouns";
import { TaskFrame } from "./TaskFrame";

export function TaskAssignmentCard({ message }: { message: Message }) {
  return <TaskFrame icon={<ClipboardList size={15} aria-hidden />} words="Task" message={message} />;
}
