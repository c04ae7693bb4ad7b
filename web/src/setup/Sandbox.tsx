import { ShieldAlert, ShieldCheck } from "lucide-react";
import { useSettings } from "../state/queries";
import { loose, text } from "../wire/nouns";

const WORDS: Record<string, string> = {
  full: "Commands run in a sandbox of their own.",
  landlock: "Commands are held by the kernel's file rules alone.",
  none: "Commands run without a sandbox: each one asks first.",
};

/** What holds a command here, and what does not: said as the server says it. */
export function Sandbox() {
  const sandbox = loose(useSettings().data?.["sandbox"]);
  const level = text(sandbox["level"]);
  if (!level) return null;
  const full = level === "full";
  return (
    <div className="rounded-2xl border border-line bg-surface p-4 text-sm">
      <p className="flex items-center gap-2 font-medium">
        {full ? (
          <ShieldCheck size={17} aria-hidden className="text-good" />
        ) : (
          <ShieldAlert size={17} aria-hidden className="text-warn" />
        )}
        {WORDS[level] ?? `Level: ${level}`}
      </p>
      <Lines title="It holds" lines={sandbox["enforces"]} />
      <Lines title="It does not hold" lines={sandbox["does_not"]} />
      <Lines title="Commands can read (setting sandbox_paths)" lines={sandbox["visible"]} />
      <Lines title="Hidden from commands" lines={sandbox["hidden"]} />
      <Lines title="Not visible" lines={sandbox["refused"]} />
    </div>
  );
}

function Lines({ title, lines }: { title: string; lines: unknown }) {
  if (!Array.isArray(lines) || lines.length === 0) return null;
  return (
    <>
      <h3 className="mt-3 text-ink-2">{title}</h3>
      <ul className="list-disc pl-5 text-ink-2">
        {lines.map((line) => (
          <li key={text(line)}>{text(line)}</li>
        ))}
      </ul>
    </>
  );
}
