import { Check, Copy as CopyIcon } from "lucide-react";
import { type MouseEvent, type ReactNode, useState } from "react";
import { t } from "../texts/ui";
import { IconButton } from "./Button";

interface Props {
  /** A function is asked at the press. */
  text: string | (() => string);
  label?: string;
  icon?: ReactNode;
  className?: string;
}

export function Copy({ text, label = t.copy, icon = <CopyIcon size={15} aria-hidden />, className = "" }: Props) {
  const [done, setDone] = useState(false);
  const copy = async ({ currentTarget }: MouseEvent<HTMLElement>) => {
    const words = typeof text === "string" ? text : text();
    if (navigator.clipboard) await navigator.clipboard.writeText(words);
    else copyByHand(words, currentTarget);
    setDone(true);
    setTimeout(() => setDone(false), 1500);
  };
  return (
    <IconButton label={done ? t.copied : label} onClick={(event) => void copy(event)} className={className}>
      {done ? <Check size={15} aria-hidden /> : icon}
    </IconButton>
  );
}

/** Over plain HTTP there is no clipboard to write to, but what is marked can be copied. Beside the button: a dialog lets nothing outside be marked. */
function copyByHand(words: string, beside: HTMLElement): void {
  const field = document.createElement("textarea");
  field.value = words;
  field.className = "sr-only";
  beside.after(field);
  field.select();
  document.execCommand("copy");
  field.remove();
  beside.focus();
}
