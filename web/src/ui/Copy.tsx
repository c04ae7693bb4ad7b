import { Check, Copy as CopyIcon } from "lucide-react";
import { type ReactNode, useState } from "react";
import { IconButton } from "./Button";

interface Props {
  /** A function is asked at the press. */
  text: string | (() => string);
  label?: string;
  icon?: ReactNode;
  className?: string;
}

export function Copy({ text, label = "Copy", icon = <CopyIcon size={15} aria-hidden />, className = "" }: Props) {
  const [done, setDone] = useState(false);
  const copy = () => {
    void navigator.clipboard?.writeText(typeof text === "string" ? text : text()).then(() => {
      setDone(true);
      setTimeout(() => setDone(false), 1500);
    });
  };
  return (
    <IconButton label={done ? "Copied" : label} onClick={copy} className={className}>
      {done ? <Check size={15} aria-hidden /> : icon}
    </IconButton>
  );
}
