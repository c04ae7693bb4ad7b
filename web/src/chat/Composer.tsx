// Where a person writes. Enter sends, Shift+Enter makes a line; what is not sent is kept. Stop stands where Send stands.

import { ArrowUp, CornerDownRight, ListPlus, Network, PencilLine, Square, Workflow } from "lucide-react";
import { type KeyboardEvent, lazy, Suspense, useEffect, useLayoutEffect, useRef, useState } from "react";
import { draftOf, keepDraft } from "../browser/preferences";
import { useCommandSuggestions } from "../composer/commandSuggestions";
import { type CommandName, commandIn, completionContextAt } from "../composer/inputSyntax";
import { useMentionSuggestions } from "../composer/mentionSuggestions";
import { SuggestionList, useSuggestionKeys } from "../composer/Suggestions";
import { useSkillSuggestions } from "../composer/skillSuggestions";
import { useConnection } from "../state/sidebar";
import { t } from "../texts/chat";
import { t as texts } from "../texts/composer";
import { t as jobTexts } from "../texts/jobs";
import { t as queueTexts } from "../texts/queue";
import { keysOf, shown } from "../ui/hotkeys";
import { May } from "../ui/May";
import { isThumb } from "../ui/narrow";
import type { ChatState } from "../wire/nouns";
import { useWorkflowSuggestions } from "../workflows/Completion";
import { openWorkflows } from "../workflows/opening";
import { AttachedImages } from "./AttachedImages";
import { AttachedTexts, ChooseFiles } from "./AttachedTexts";
import { type Attached, useAttached } from "./attached";
import type { AttachedText } from "./attachedText";

interface Props {
  chatId: string;
  state: ChatState;
  placeholder: string;
  /** What was sent in this chat, oldest first: the arrow keys bring it back. */
  sent: readonly string[];
  /** Whether the model that answers can be shown images. */
  images: boolean;
  /** What the next message is about, said above the field. */
  note?: string | null;
  onSend: (words: string, images: readonly Attached[], files: readonly AttachedText[]) => Promise<boolean>;
  /** While the agent works: the message waits until it has finished, or with `now` steers the turn. */
  onQueue: (words: string, when: "idle" | "now") => Promise<boolean>;
  onStop: () => void;
  /** A command of the page. False: it was none of the choices, and what was typed stays. */
  onCommand: (command: Exclude<CommandName, "help">, text: string) => boolean;
  /** Offers to run the words as a job; `started` empties the field. */
  onJob?: (words: string, started: () => void) => void;
}

const CommandHelp = lazy(() => import("../composer/CommandHelp"));

const WAITING: Record<ChatState, string> = {
  idle: "",
  running: queueTexts.theAgentIsWorking,
  awaiting_approval: t.decideAboveOrStop,
  awaiting_answer: t.answerTheQuestionAboveOr,
};

/** Up and down walk through what was sent, as long as nothing else stands in the field. Pure. */
function recall(
  key: string,
  words: string,
  sent: readonly string[],
  back: number,
): { words: string; back: number } | null {
  const shown = back > 0 ? sent.at(-back) : "";
  if (words !== "" && words !== shown) return null; // somebody's own words
  const now = words === "" ? 0 : back;
  if (key === "ArrowUp" && now < sent.length) return { words: sent.at(-now - 1)!, back: now + 1 };
  if (key === "ArrowDown" && now > 0) return { words: now === 1 ? "" : sent.at(-now + 1)!, back: now - 1 };
  return null;
}

/** Who comes to the chat without having the focus elsewhere, as after sending its first message, types on here. */
function useArrivingFocus(field: { readonly current: HTMLTextAreaElement | null }, chatId: string): void {
  useEffect(() => {
    const at = document.activeElement;
    if (isThumb() || (at && at !== document.body && at.id !== "main")) return;
    field.current?.focus({ preventScroll: true });
    field.current?.setSelectionRange(field.current.value.length, field.current.value.length);
  }, [field, chatId]);
}

export function Composer(props: Props) {
  const { chatId, state, placeholder, sent, images, note = null, onSend, onQueue, onStop, onJob } = props;
  const attached = useAttached(images);
  const [words, setWords] = useState(() => draftOf(chatId));
  const [leaving, setLeaving] = useState<string | null>(null); // the words that are on their way
  const [back, setBack] = useState(0);
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => setWords(draftOf(chatId)), [chatId]);
  const write = (next: string) => {
    setWords(next);
    keepDraft(chatId, next);
  };
  const idle = state === "idle";
  const lost = useConnection() === "reconnecting";
  // The answer may come after the agent began: what is typed by then is another message.
  const sending = leaving !== null && (idle || leaving === words);
  const [caret, setCaret] = useState(words.length);
  const [helps, setHelps] = useState(false);
  const command = (name: CommandName, text: string) => {
    if (name === "help") setHelps(true);
    else if (!props.onCommand(name, text)) return;
    write("");
  };
  const typed = completionContextAt(words, caret);
  const placed = useRef<number | null>(null);
  useLayoutEffect(() => {
    if (placed.current !== null) field.current?.setSelectionRange(placed.current, placed.current);
    placed.current = null; // once, before the next key arrives
  });
  const put = (text: string, goesOn = false) => {
    if (typed?.kind !== "mention") return;
    const before = `${words.slice(0, typed.from)}${text}${goesOn ? "" : " "}`;
    write(before + words.slice(caret).replace(/^ /, ""));
    setCaret(before.length);
    placed.current = before.length;
  };
  const complete = (next: string) => {
    write(next);
    setCaret(next.length);
  };
  const commands = useCommandSuggestions(typed, command, complete);
  const named = idle && typed?.kind === "command" ? typed.text : null;
  const workflows = useWorkflowSuggestions({ chatId }, named, write);
  const skills = useSkillSuggestions({ chatId }, named, complete);
  const mentions = useMentionSuggestions(chatId, typed?.kind === "mention" ? typed.text : null, put);
  const completing = useSuggestionKeys([...commands, ...workflows, ...skills, ...mentions], words);
  const submit = async (when: "idle" | "now" = "idle") => {
    if (sending || !words.trim()) return;
    const order = commandIn(words);
    if (order) return command(order.command, order.text);
    setLeaving(words);
    const done = await (idle ? onSend(words, attached.images, attached.texts) : onQueue(words, when));
    setLeaving((now) => (now === words ? null : now));
    setBack(0);
    if (done) {
      setWords((now) => (now === words ? "" : now)); // else it was typed meanwhile
      if (draftOf(chatId) === words) keepDraft(chatId, "");
      if (idle) attached.clear(); // only words can wait; images and files stay for the next message
    }
    if (isThumb())
      field.current?.blur(); // the keyboard on the screen would cover what comes
    else field.current?.focus();
  };
  useArrivingFocus(field, chatId);
  const remove = (key: string) => {
    attached.remove(key);
    if (!isThumb()) field.current?.focus(); // the button that had it is gone
  };
  const onKey = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    if (event.nativeEvent.isComposing) return;
    if (completing.onKey(event)) return event.preventDefault();
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      void submit(event.ctrlKey || event.metaKey ? "now" : "idle");
    }
    const recalled = recall(event.key, words, sent, back);
    if (recalled) {
      event.preventDefault();
      setBack(recalled.back);
      write(recalled.words);
    }
    if (event.key === "Escape") field.current?.blur();
  };
  return (
    <>
      <Suspense fallback={null}>{helps && <CommandHelp onClose={() => setHelps(false)} />}</Suspense>
      <SuggestionList shown={completing.shown} at={completing.at} label={texts.suggestionsLabel} />
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
        {...attached.drop}
        className="shrink-0 rounded-2xl border border-line-strong/80 bg-surface p-2 shadow-sm transition-shadow focus-within:border-ink-3 focus-within:ring-1 focus-within:ring-ink-3 focus-within:shadow-md"
      >
        {note && (
          <p role="status" className="flex items-center gap-1.5 px-2.5 pb-1.5 text-sm text-role">
            <PencilLine size={14} aria-hidden className="shrink-0" /> {note}
          </p>
        )}
        {attached.problems.length > 0 && (
          <div role="alert" className="px-2.5 pb-1.5 text-sm text-bad">
            {attached.problems.map((problem) => (
              <p key={problem} className="break-words">
                {problem}
              </p>
            ))}
          </div>
        )}
        <AttachedImages images={attached.images} onRemove={remove} />
        <AttachedTexts texts={attached.texts} onRemove={remove} />
        <div className="flex items-end gap-2">
          <May needs="POST /attachments/pdf">
            <ChooseFiles onChoose={attached.add} />
          </May>
          <button
            type="button"
            aria-label={t.workflows}
            title={t.workflowsTypeForOne}
            onClick={() => openWorkflows()}
            className="inline-flex size-10 thumb:size-11 shrink-0 items-center justify-center rounded-xl text-ink-2 hover:bg-sunken hover:text-ink"
          >
            <Workflow size={18} aria-hidden />
          </button>
          <textarea
            id="composer"
            ref={field}
            rows={1}
            dir="auto"
            value={words}
            aria-label={t.message}
            aria-describedby={idle ? undefined : "composer-state"}
            placeholder={placeholder}
            {...completing.aria}
            onChange={({ target }) => {
              write(target.value);
              setCaret(target.selectionStart);
            }}
            onSelect={({ currentTarget }) => setCaret(currentTarget.selectionStart)}
            onKeyDown={onKey}
            onPaste={attached.paste}
            className="max-h-48 min-h-10 thumb:min-h-11 min-w-0 flex-1 resize-none bg-transparent px-2.5 py-2 outline-none placeholder:overflow-hidden placeholder:text-ellipsis placeholder:whitespace-nowrap placeholder:text-ink-3"
          />
          {idle && onJob && words.trim() && (
            <button
              type="button"
              aria-label={jobTexts.runAsJob}
              title={jobTexts.runAsJob}
              disabled={sending}
              onClick={() => onJob(words, () => write(""))}
              className="inline-flex size-10 thumb:size-11 shrink-0 items-center justify-center rounded-xl text-ink-2 hover:bg-sunken hover:text-ink disabled:opacity-30"
            >
              <Network size={18} aria-hidden />
            </button>
          )}
          {idle ? (
            <button
              type="submit"
              aria-label={t.send}
              title={t.sendEnter}
              disabled={!words.trim() || sending}
              className="inline-flex size-10 thumb:size-11 shrink-0 items-center justify-center rounded-xl bg-ink text-paper transition-opacity disabled:opacity-30"
            >
              <ArrowUp size={18} aria-hidden />
            </button>
          ) : (
            <>
              {words.trim() && (
                <>
                  <button
                    type="button"
                    aria-label={queueTexts.steer}
                    title={queueTexts.steer}
                    disabled={sending}
                    onClick={() => void submit("now")}
                    className="inline-flex size-10 thumb:size-11 shrink-0 items-center justify-center rounded-xl text-ink-2 hover:bg-sunken hover:text-ink disabled:opacity-30"
                  >
                    <CornerDownRight size={18} aria-hidden />
                  </button>
                  <button
                    type="submit"
                    aria-label={queueTexts.queue}
                    title={queueTexts.queueEnter}
                    disabled={sending}
                    className="inline-flex size-10 thumb:size-11 shrink-0 items-center justify-center rounded-xl bg-ink text-paper disabled:opacity-30"
                  >
                    <ListPlus size={18} aria-hidden />
                  </button>
                </>
              )}
              <button
                type="button"
                onClick={onStop}
                title={t.stop(shown(keysOf("stop")))}
                className="inline-flex h-10 thumb:h-11 shrink-0 items-center gap-2 rounded-xl bg-bad-soft px-3.5 text-sm font-semibold text-bad hover:brightness-95"
              >
                <Square size={13} fill="currentColor" aria-hidden /> {t.stop2}
              </button>
            </>
          )}
        </div>
        {!idle && (
          <p id="composer-state" className="px-2.5 pb-1 text-xs text-ink-3">
            {lost ? t.notKnownWhatItDoes : WAITING[state]}
            {state === "awaiting_approval" && !lost && (
              <span className="max-sm:hidden"> {t.byKeyGoesThereThen(shown(keysOf("approvals")))}</span>
            )}
          </p>
        )}
      </form>
    </>
  );
}
