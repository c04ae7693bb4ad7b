// Who changed a file since the chat began: a short word beside the colour (no letter: "A" would read as git's "added"), and the words for who cannot see either.
import clsx from "clsx";
import { t } from "../texts/files";

type ChangedBy = "agent" | "you" | "both";

const LOOKS: Record<ChangedBy, string> = {
  agent: "bg-good-soft text-good",
  you: "bg-sunken text-ink-2",
  both: "bg-warn-soft text-warn",
};

export function ChangedMark({ by, short = false }: { by: ChangedBy; short?: boolean }) {
  const words = t.changedBy[by];
  return (
    <span
      title={words}
      className={clsx(
        "shrink-0 rounded-full px-1.5 py-px text-[11px] leading-4 font-semibold whitespace-nowrap",
        LOOKS[by],
      )}
    >
      <span aria-hidden>{short ? t.changedByLetter[by] : t.changedByShort[by]}</span>
      <span className="sr-only">{words}</span>
    </span>
  );
}
