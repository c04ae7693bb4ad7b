// One skill: what it declares, what is wrong with it, and its files, which are read before it is trusted.

import { useQueryClient } from "@tanstack/react-query";
import clsx from "clsx";
import { CircleAlert, Handshake } from "lucide-react";
import { type ReactNode, useState } from "react";
import { Output } from "../content/Output";
import { visible } from "../content/visible";
import { DeleteDialog } from "../definitions/DeleteDialog";
import { t } from "../texts/skills";
import { t as workflows } from "../texts/workflows";
import { Button } from "../ui/Button";
import { Fold } from "../ui/Fold";
import { Outcomes } from "../ui/Outcomes";
import { attempt, say } from "../ui/outcomes";
import { useRefusal } from "../ui/refusal";
import { changesFiles, runsCommands, toolsInWords } from "./needs";
import { type ReadFile, removeSkill, SKILLS, type Skill, trustSkill, useSkillPage } from "./queries";

interface Props {
  skill: Skill;
  workspace: string | undefined;
}

export function SkillLine({ skill, workspace }: Props) {
  const queries = useQueryClient();
  const { name, source, path, declared, problems } = skill;
  const readAgain = () => queries.invalidateQueries({ queryKey: SKILLS });
  return (
    <Entry
      entry={skill}
      title={`/${visible(name)}`}
      mark={<Standing skill={skill} />}
      origin={t.sources[source] ?? ""}
      place={path}
      removeAbout={source === "data" ? t.removeAbout : null}
      onRemoved={readAgain}
    >
      {problems.length === 0 && (
        <dl
          aria-label={t.declares(name)}
          className="mt-2 grid grid-cols-[minmax(0,1fr)] gap-x-4 gap-y-1 text-ink-2 sm:grid-cols-[auto_minmax(0,1fr)]"
        >
          <Declared label={t.mayUse} words={toolsInWords(declared.tools)} otherwise={t.noTools} />
          {(declared.network.length > 0 || runsCommands(declared.tools)) && (
            <Declared label={t.mayReach} words={declared.network.map(visible)} otherwise={t.noHosts} />
          )}
          {(declared.paths.length > 0 || changesFiles(declared.tools)) && (
            <Declared label={t.mayChange} words={declared.paths.map(visible)} otherwise={t.anyPath} />
          )}
        </dl>
      )}
      {problems.length > 0 && (
        <ul aria-label={t.wrongWith(name)} className="mt-2 space-y-1 text-warn">
          {problems.map(({ message, path: file, line }) => (
            <li key={`${file}:${line}:${message}`} lang="en" className="break-words">
              {file}
              {line ? `:${line}` : ""}: {message}
            </li>
          ))}
        </ul>
      )}
      <Fold className="mt-1 -ml-1.5" summary={skill.trusted || problems.length > 0 ? t.files : t.readAndTrust}>
        {() => <Files skill={skill} workspace={workspace} onTold={readAgain} />}
      </Fold>
    </Entry>
  );
}

interface EntryProps {
  entry: { name: string; description: string };
  title: string;
  mark: ReactNode;
  /** How it came here, and from where. */
  origin: string;
  place: string;
  /** What removing it means; null where it cannot be removed here. */
  removeAbout: string | null;
  onRemoved: () => Promise<void>;
  children: ReactNode;
}

/** A skill or a plugin in the list: its name, where it is from, what it is, and its removal. */
export function Entry({ entry, title, mark, origin, place, removeAbout, onRemoved, children }: EntryProps) {
  const [removes, setRemoves] = useState(false);
  const { name, description } = entry;
  const remove = async () => {
    setRemoves(false);
    if (await attempt(removeSkill(name))) say(t.removed(name));
    await onRemoved();
  };
  return (
    <li className="px-4 py-3.5 text-sm">
      <div className="flex flex-wrap items-center gap-2">
        <code className="font-mono text-[13px] font-medium break-all">{title}</code>
        {mark}
        {removeAbout && (
          <Button look="quiet" className="ml-auto" aria-label={t.remove(name)} onClick={() => setRemoves(true)}>
            {t.removeButton}
          </Button>
        )}
      </div>
      {description && (
        <p dir="auto" className="mt-1 break-words">
          {visible(description)}
        </p>
      )}
      <p className="mt-1 text-ink-3">
        {origin} <code className="font-mono text-xs break-all">{visible(place)}</code>
      </p>
      {children}
      {removes && removeAbout && (
        <DeleteDialog
          name={name}
          about={removeAbout}
          onDelete={() => void remove()}
          onClose={() => setRemoves(false)}
        />
      )}
      <Outcomes className="mt-2" />
    </li>
  );
}

/** Whether it is used. */
export function Standing({
  skill: { trusted, changed, problems },
}: {
  skill: Pick<Skill, "trusted" | "changed" | "problems">;
}) {
  const words = problems.length > 0 ? t.unusable : trusted ? t.trusted : changed ? t.changedSince : t.notTrusted;
  const Icon = problems.length > 0 ? CircleAlert : Handshake;
  return (
    <span
      className={clsx(
        "inline-flex items-center gap-1 rounded-full px-2 py-0.5 text-xs font-medium",
        trusted ? "bg-good-soft text-good" : "bg-warn-soft text-warn",
      )}
    >
      <Icon size={12} aria-hidden />
      {words}
    </span>
  );
}

function Declared({ label, words, otherwise }: { label: ReactNode; words: readonly string[]; otherwise: string }) {
  return (
    <div className="contents">
      <dt className="text-ink-3">{label}</dt>
      <dd className="mb-1 break-words sm:mb-0">{words.length > 0 ? words.join(", ") : otherwise}</dd>
    </div>
  );
}

function Files({ skill, workspace, onTold }: Props & { onTold: () => Promise<void> }) {
  const { data: page, isPending } = useSkillPage(workspace, skill);
  if (isPending) return <p className="py-1 text-ink-3">{workflows.reading}</p>;
  // Another skill of this name, or other content than the list is about: nothing is shown, and nothing can be trusted.
  if (page?.sha256 !== skill.sha256 || page.path !== skill.path)
    return <p className="py-1 break-words text-ink-2">{t.cannotShow(skill.path)}</p>;
  return (
    <FilesToTrust
      files={page.files}
      sha256={page.sha256}
      trusted={skill.trusted}
      usable={skill.problems.length === 0}
      trust={(hash) => trustSkill(skill.name, hash, workspace)}
      onTold={onTold}
    />
  );
}

interface ToTrust {
  files: readonly ReadFile[];
  sha256: string;
  trusted: boolean;
  usable: boolean;
  trust: (hash: string | null) => Promise<unknown>;
  onTold: () => Promise<void>;
}

/** Exactly what the hash covers: the button below trusts that and nothing else. */
export function FilesToTrust({ files, sha256, trusted, usable, trust, onTold }: ToTrust) {
  const [attemptHere, refusal] = useRefusal();
  const [busy, setBusy] = useState(false);
  const say = async (hash: string | null) => {
    setBusy(true);
    await attemptHere(trust(hash));
    await onTold();
    setBusy(false);
  };
  return (
    <div className="space-y-3">
      <p title={`SHA-256 ${sha256}`} className="text-ink-3">
        {t.covers(files.length)}
      </p>
      {files.map(({ path, bytes, text }) => (
        <div key={path}>
          <p className="flex flex-wrap items-baseline gap-x-2">
            <code className="font-mono text-[13px] break-all">{visible(path)}</code>
            <span className="text-xs text-ink-3">{t.size(bytes)}</span>
          </p>
          {text === null ? (
            <p className="py-1 text-ink-2">{t.notText}</p>
          ) : (
            <Output text={visible(text)} label={workflows.contentOf(path)} />
          )}
        </div>
      ))}
      {refusal}
      {trusted ? (
        <Button disabled={busy} onClick={() => void say(null)}>
          {workflows.trustItNoLonger}
        </Button>
      ) : (
        usable && (
          <Button disabled={busy} icon={<Handshake size={15} aria-hidden />} onClick={() => void say(sha256)}>
            {workflows.trustThisContent}
          </Button>
        )
      )}
    </div>
  );
}
