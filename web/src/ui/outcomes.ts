// What came of a person's act is said beside the control that began it. A toast says it only where that page was left meanwhile.
import { create } from "zustand";
import { t } from "../texts/ui";
import { Refusal } from "../wire/client";
import { type Action, type Kind, SHOWN_MS, toast } from "./toasts";

export interface Outcome {
  id: number;
  words: string;
  kind: Kind;
  action: Action | undefined;
  /** Where else it belongs, innermost first. */
  path: readonly string[];
}

interface Place {
  id: string;
  element: HTMLElement;
  /** Says what belongs to no part of the page, as what the palette began. */
  page: boolean;
}

/** By the id of the place that shows it. */
export const useOutcomes = create<Readonly<Record<string, Outcome>>>(() => ({}));
const places = new Map<string, Place>();
const EVENTS = ["click", "keydown", "submit", "drop"] as const;
const ABOVE_PAGE = "dialog, [role=dialog], [role=menu], [role=listbox]";
let count = 0;
/** The places around the control that was used last, innermost first, and the page it was on. */
let origin: { path: readonly string[]; page: string } = { path: [], page: "" };

/** A place for what is begun inside the parent of this element, until the function it returns is called. */
export function offerOutcomes(id: string, element: HTMLElement, page: boolean): () => void {
  if (places.size === 0) for (const event of EVENTS) document.addEventListener(event, remember, true);
  places.set(id, { id, element, page });
  return () => {
    places.delete(id);
    passOn(id);
    if (places.size === 0) for (const event of EVENTS) document.removeEventListener(event, remember, true);
  };
}

/** News of a row or dialog that closes is said around it. */
function passOn(id: string): void {
  const outcome = useOutcomes.getState()[id];
  clear(id);
  const next = outcome?.path.find((place) => places.has(place)) ?? pagePlace();
  if (next && outcome?.kind === "info") show(next, outcome.words, outcome.kind, outcome.action, outcome.path);
}

function remember({ target }: Event): void {
  if (!(target instanceof Element) || target === document.body) return; // nothing has the focus
  const around = [...places.values()].filter(({ element }) => element.parentElement?.contains(target));
  const inner = around.sort((a, b) => (a.element.parentElement!.contains(b.element.parentElement) ? 1 : -1));
  const path = inner.map(({ id }) => id);
  // What a dialog or menu began is said where that was opened, once it is closed.
  origin = { path: target.closest(ABOVE_PAGE) ? [...new Set([...path, ...origin.path])] : path, page: currentPage() };
}

const currentPage = () => location.hash.split("/", 3).join("/");

function placeFor({ path, page }: typeof origin): string | undefined {
  const shown = path.find((id) => places.has(id));
  if (shown || (page && page !== currentPage())) return shown;
  return pagePlace();
}

const pagePlace = () => [...places.values()].findLast(({ page }) => page)?.id;

/** Says what a person's act has done. */
export function say(words: string, kind: Kind = "info", action?: Action): void {
  show(placeFor(origin), words, kind, action, origin.path);
}

/** Says what is the matter with the page that is open, whatever was used last. */
export function sayOnPage(words: string, kind: Kind = "info"): void {
  show(pagePlace(), words, kind);
}

/** A fault stays until the next act here, news for some seconds. */
function show(
  place: string | undefined,
  words: string,
  kind: Kind,
  action?: Action,
  path: readonly string[] = [],
): void {
  if (place === undefined) return toast(words, kind, action);
  const outcome: Outcome = { id: ++count, words, kind, action, path };
  useOutcomes.setState({ [place]: outcome });
  if (kind === "info")
    setTimeout(
      () => useOutcomes.getState()[place]?.id === outcome.id && clear(place),
      action ? 3 * SHOWN_MS : SHOWN_MS,
    );
}

export function clear(place: string): void {
  if (!useOutcomes.getState()[place]) return;
  const { [place]: _, ...others } = useOutcomes.getState();
  useOutcomes.setState(others, true);
}

/** Another tab, or another person, was quicker: news, and no fault of anyone. */
const SETTLED = new Set(["already_decided", "already_answered", "plan_already_approved"]);

/** Runs what a person asked for; a refusal is shown in the server's own words. True if it was done. */
export async function attempt(act: Promise<unknown>): Promise<boolean> {
  const began = origin;
  const place = placeFor(began);
  if (place) clear(place);
  try {
    await act;
    return true;
  } catch (error) {
    if (!(error instanceof Refusal)) show(placeFor(began), t.thatDidNotWorkAnd, "problem");
    else show(placeFor(began), error.message, SETTLED.has(error.code) ? "info" : "problem");
    return false;
  }
}
