// The edge between the chat and a pane beside or below it: dragged, or moved with the arrow keys. Where it stands is remembered.

import clsx from "clsx";
import type { KeyboardEvent, PointerEvent } from "react";
import { setPreference, usePreference } from "../browser/preferences";

type Sized = "files_width" | "terminal_height";

const [LEAST, MOST, STEP] = [25, 75, 5]; // hundredths of what the pane shares with the chat

/** What was chosen, in hundredths; null as long as nothing was. */
export function usePaneSize(name: Sized): number | null {
  const stored = usePreference(name);
  const size = Number(stored);
  return stored && size >= LEAST && size <= MOST ? size : null;
}

interface Props {
  name: Sized;
  label: string;
  /** On which side of the pane it is. */
  side: "left" | "top";
  /** What the pane has as long as nothing was chosen. */
  usual: number;
}

export function PaneEdge({ name, label, side, usual }: Props) {
  const size = usePaneSize(name) ?? usual;
  const resize = (to: number) => setPreference(name, String(Math.round(Math.min(MOST, Math.max(LEAST, to)))));
  const [more, less] = side === "left" ? ["ArrowLeft", "ArrowRight"] : ["ArrowUp", "ArrowDown"];
  const onKey = (event: KeyboardEvent) => {
    if (event.key !== more && event.key !== less) return;
    event.preventDefault();
    resize(size + (event.key === more ? STEP : -STEP));
  };
  const drag = (event: PointerEvent<HTMLDivElement>) => {
    const around = event.currentTarget.parentElement?.parentElement?.getBoundingClientRect();
    if (!around?.width || !event.currentTarget.hasPointerCapture(event.pointerId)) return;
    const share =
      side === "left" ? (around.right - event.clientX) / around.width : (around.bottom - event.clientY) / around.height;
    resize(share * 100);
  };
  return (
    <div
      role="separator"
      aria-orientation={side === "left" ? "vertical" : "horizontal"}
      aria-label={label}
      aria-valuenow={size}
      aria-valuemin={LEAST}
      aria-valuemax={MOST}
      tabIndex={0}
      onKeyDown={onKey}
      onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
      onPointerMove={drag}
      className={clsx(
        "absolute z-10 touch-none hover:bg-line-strong/60",
        side === "left" ? "inset-y-0 -left-1 w-2 cursor-col-resize" : "inset-x-0 -top-1 h-2 cursor-row-resize",
      )}
    />
  );
}
