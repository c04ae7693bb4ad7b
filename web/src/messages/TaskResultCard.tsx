import { Flag } from "lucide-react";
import type { Message } from "../wire/nouns";
import { TaskFrame } from "./TaskFrame";

export function TaskResultCard({ message }: { message: Message }) {
  return <TaskFrame icon={<Flag size={15} aria-hidden />} words="Task result" message={message} />;
}
