// Files that someone else changed, each with a box to overwrite it. Of very many, only those in sight are in the page.

import { VList } from "virtua";
import { t } from "../texts/checkpoints";

const FEW = 50; // files up to which all of them are in the page
const MANY = 10; // files from which one box chooses all

interface Props {
  paths: readonly string[];
  reasons: Readonly<Record<string, string>>;
  chosen: ReadonlySet<string>;
  onChoose: (chosen: ReadonlySet<string>) => void;
}

export function ConflictList({ paths, reasons, chosen, onChoose }: Props) {
  const toggle = (path: string) => {
    const next = new Set(chosen);
    if (!next.delete(path)) next.add(path);
    onChoose(next);
  };
  const all = paths.every((path) => chosen.has(path));
  const lines = paths.map((path) => (
    <label key={path} className="flex items-baseline gap-2 py-0.5">
      <input type="checkbox" checked={chosen.has(path)} onChange={() => toggle(path)} />
      <span className="min-w-0 break-words">
        {t.overwrite} <code className="font-mono text-[13px]">{path}</code>{" "}
        <span className="text-ink-2">{reasons[path]}</span>
      </span>
    </label>
  ));
  return (
    <>
      {paths.length >= MANY && (
        <label className="flex items-baseline gap-2 py-0.5 font-medium">
          <input type="checkbox" checked={all} onChange={() => onChoose(new Set(all ? [] : paths))} />
          {t.overwriteAll(paths.length)}
        </label>
      )}
      {paths.length <= FEW ? lines : <VList style={{ height: "16rem" }}>{lines}</VList>}
    </>
  );
}
