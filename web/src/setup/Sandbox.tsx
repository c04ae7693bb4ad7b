import { Box } from "lucide-react";
import { ServerText } from "../content/ServerText";
import { useSettings } from "../state/queries";
import { t } from "../texts/settings";
import { loose, text } from "../wire/nouns";

const WORDS: Record<string, string> = {
  full: t.commandsRunInASandbox,
  landlock: t.commandsAreHeldByThe,
  none: t.commandsRunWithoutASandbox,
};

/** What holds a command here, and what does not. */
export function Sandbox() {
  const sandbox = loose(useSettings().data?.["sandbox"]);
  const level = text(sandbox["level"]);
  if (!level) return null;
  const full = level === "full";
  return (
    <div className="rounded-2xl border border-line bg-surface p-4 text-sm">
      <p className="flex items-center gap-2 font-medium">
        <Box size={17} aria-hidden className={full ? "text-good" : "text-warn"} />
        {WORDS[level] ?? t.level(level)}
      </p>
      <Lines title={t.itHolds} lines={sandbox["enforces"]} />
      <Lines title={t.itDoesNotHold} lines={sandbox["does_not"]} />
      <Lines title={t.commandsCanReadSettingSandbox} lines={sandbox["visible"]} />
      <Lines title={t.commandsUseCaches} lines={sandbox["caches"]} />
      <Lines title={t.hiddenFromCommands} lines={sandbox["hidden"]} />
      <Lines title={t.notVisible} lines={sandbox["refused"]} />
    </div>
  );
}

function Lines({ title, lines }: { title: string; lines: unknown }) {
  if (!Array.isArray(lines) || lines.length === 0) return null;
  return (
    <>
      <h3 className="mt-3 text-ink-2">{title}</h3>
      <ul className="list-disc pl-5 break-words text-ink-2">
        {lines.map((line) => (
          <li key={text(line)}>
            <ServerText english={text(line)} />
          </li>
        ))}
      </ul>
    </>
  );
}
