import { Check, Copy as CopyIcon } from "lucide-react";
import { useState } from "react";
import { IconButton } from "./Button";

export function Copy({ text, label = "Copy", className }: { text: string; label?: string; className?: string }) {
  const [done, setDone] = useState(false);
  const copy = () => {
    void navigator.clipboard?.writeText(text).then(() => {
      setDone(true);
      setTimeout(() => setDone(false), 1500);
    });
  };
  return (
    <IconButton label={done ? "Copied" : label} onClick={copy} className={className ?? ""}>
      {done ? <Check size={15} aria-hidden /> : <CopyIcon size={15} aria-hidden />}
    </IconButton>
  );
}
