// One file, to be read: its text with line numbers and colours, a picture, or what there is to say about it. Editing starts here.

import { Lock, MessageSquareText, PencilLine } from "lucide-react";
import { lazy, type ReactNode, Suspense, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { languageOf } from "../content/languages";
import { visible } from "../content/visible";
import { t } from "../texts/files";
import { bytesText, number } from "../texts/language";
import { Button } from "../ui/Button";
import { Copy } from "../ui/Copy";
import { Refusal } from "../wire/client";
import { type ShownFile, useFile } from "./acts";
import { ChangedMark } from "./ChangedMark";
import { commentWords, writeToComposer } from "./comment";
import { draftOf } from "./drafts";

const FileEditor = lazy(() => import("./FileEditor"));
const COLOURED = 200_000; // characters; beyond, colours cost more than they help

interface Props {
  chatId: string;
  path: string;
  line: number | null;
}

export function FileView({ chatId, path, line }: Props) {
  const [reveal, setReveal] = useState(false);
  const [editing, setEditing] = useState(() => draftOf(chatId, path) !== null);
  const { data: file, error } = useFile(chatId, path, reveal);
  const done = useCallback(() => {
    setEditing(false);
    document.getElementById("files-pane")?.focus(); // the editor takes the focus with it
  }, []);
  if (error) return <Problem error={error} path={path} />;
  if (!file) return <p className="p-4 text-sm text-ink-3">{t.reading}</p>;
  if (editing && file.editable)
    return (
      <Suspense fallback={<p className="p-4 text-sm text-ink-3">{t.reading}</p>}>
        <FileEditor chatId={chatId} file={file} line={line} onDone={done} />
      </Suspense>
    );
  return (
    <section aria-label={t.contentOf(file.shown)} className="flex min-h-0 flex-1 flex-col">
      <div className="flex flex-wrap items-center gap-x-2 gap-y-1 border-b border-line px-3 py-1.5 text-xs text-ink-3">
        <span className="tabular-nums">{bytesText(file.size)}</span>
        {file.changed_by && <ChangedMark by={file.changed_by} />}
        <span className="ml-auto flex items-center gap-1">
          {file.text !== null && <Copy text={file.text} label={t.copyText} className="!size-8 thumb:!size-11" />}
          {file.kind === "text" && <CommentButton path={file.path} />}
          {file.editable && (
            <Button
              needs="PUT /context/{chat_id}/file"
              className="!min-h-8 thumb:!min-h-11 !py-0.5"
              icon={<PencilLine size={14} aria-hidden />}
              onClick={() => setEditing(true)}
            >
              {t.edit}
            </Button>
          )}
        </span>
      </div>
      <Content file={file} line={line} onReveal={() => setReveal(true)} />
    </section>
  );
}

/** The lines that are marked in the text are what the comment is about. */
function CommentButton({ path }: { path: string }) {
  const comment = () => {
    const marked = markedLines();
    writeToComposer(commentWords(path, marked?.place ?? null, marked?.lines ?? []));
  };
  return (
    <Button
      look="quiet"
      aria-label={t.comment}
      className="!min-h-8 thumb:!min-h-11 !py-0.5"
      icon={<MessageSquareText size={14} aria-hidden />}
      onClick={comment}
    >
      {t.commentShort}
    </Button>
  );
}

function markedLines(): { place: [number, number]; lines: string[] } | null {
  const marked = document.getSelection();
  const code = document.getElementById("file-text");
  if (!marked || marked.isCollapsed || !code?.contains(marked.anchorNode)) return null;
  const before = document.createRange();
  before.selectNodeContents(code);
  const range = marked.getRangeAt(0);
  before.setEnd(range.startContainer, range.startOffset);
  const first = before.toString().split("\n").length;
  const lines = marked.toString().replace(/\n$/, "").split("\n");
  return { place: [first, first + lines.length - 1], lines };
}

function Content({ file, line, onReveal }: { file: ShownFile; line: number | null; onReveal: () => void }) {
  switch (file.kind) {
    case "protected":
      return (
        <Notice icon={<Lock size={22} aria-hidden className="text-warn" />}>
          <p>{file.protected === "rule" ? t.hiddenByARule : t.looksLikeASecret}</p>
          <p className="mt-1 text-xs text-ink-3">{t.revealNote}</p>
          <Button className="mt-3" onClick={onReveal}>
            {t.reveal}
          </Button>
        </Notice>
      );
    case "image":
      return file.image ? <Picture data={file.image} name={file.shown} /> : null;
    case "binary":
      return <Notice>{t.binary}</Notice>;
    case "text":
    case "partial":
      return (
        <>
          {file.kind === "partial" && (
            <p className="border-b border-line bg-warn-soft px-3 py-1.5 text-xs text-warn">{t.partial}</p>
          )}
          <Text key={file.path} text={file.text ?? ""} path={file.path} shown={file.shown} line={line} />
        </>
      );
    default: {
      const unreachable: never = file.kind;
      return unreachable;
    }
  }
}

function Text({ text, path, shown, line }: { text: string; path: string; shown: string; line: number | null }) {
  const seen = useMemo(() => visible(text.replace(/\r\n/g, "\n")), [text]);
  const coloured = useColours(seen, path);
  const count = useMemo(() => seen.replace(/\n$/, "").split("\n").length, [seen]);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!line || !box.current) return;
    const height = Number.parseFloat(getComputedStyle(box.current).lineHeight) || 20;
    box.current.scrollTop = Math.max(0, (line - 4) * height);
  }, [line, path]);
  if (text === "") return <Notice>{t.empty}</Notice>;
  return (
    <div
      ref={box}
      tabIndex={0}
      role="group"
      aria-label={t.textOf(shown, number(count))}
      className="min-h-0 flex-1 overflow-auto font-mono text-[12.5px] leading-5"
    >
      <div className="flex w-max min-w-full py-1.5">
        <pre aria-hidden className="sticky left-0 shrink-0 bg-surface pr-3 pl-3 text-right text-ink-3 select-none">
          {Array.from({ length: count }, (_, at) => at + 1).join("\n")}
        </pre>
        <pre className="pr-4">
          <code id="file-text">{coloured ?? seen}</code>
        </pre>
      </div>
    </div>
  );
}

function useColours(text: string, path: string): ReactNode {
  const [coloured, setColoured] = useState<{ of: string; node: ReactNode } | null>(null);
  const language = languageOf(path);
  useEffect(() => {
    if (!language || text.length > COLOURED) return;
    let here = true;
    void import("../content/highlight").then(
      ({ highlighted }) => here && setColoured({ of: text, node: highlighted(text, language) }),
    );
    return () => {
      here = false;
    };
  }, [text, language]);
  return coloured?.of === text ? coloured.node : null;
}

/** The page's policy lets pictures come from a blob, not from an address that holds them. */
function Picture({ data, name }: { data: string; name: string }) {
  const [url, setUrl] = useState<string | null>(null);
  useEffect(() => {
    const [head = "", body = ""] = data.split(",");
    const bytes = Uint8Array.from(atob(body), (sign) => sign.charCodeAt(0));
    const made = URL.createObjectURL(new Blob([bytes], { type: /data:([^;]+)/.exec(head)?.[1] ?? "" }));
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [data]);
  return (
    <div className="flex min-h-0 flex-1 items-center justify-center overflow-auto bg-sunken p-4">
      {url && <img src={url} alt={t.pictureOf(name)} className="max-h-full max-w-full object-contain" />}
    </div>
  );
}

function Problem({ error, path }: { error: Error; path: string }) {
  const missing = error instanceof Refusal && error.status === 404;
  return <Notice>{missing ? t.noFileAnyMore(visible(path)) : error.message}</Notice>;
}

function Notice({ icon, children }: { icon?: ReactNode; children: ReactNode }) {
  return (
    <div className="m-auto flex max-w-sm flex-col items-center gap-2 p-6 text-center text-sm text-ink-2">
      {icon}
      <div>{children}</div>
    </div>
  );
}
