// A chat on paper, or as a PDF: the whole of what is loaded, without the page around it. On the screen only what is in view is drawn.

import { type ReactNode, useEffect, useState } from "react";
import { flushSync } from "react-dom";
import { applyTheme } from "../browser/preferences";
import { OnPaper } from "../content/Diagram";
import { loadEarlier, useLive } from "../state/live";
import type { Row } from "../state/rows";
import { t } from "../texts/chat";

const LONG_PAGE = 500;

interface Props {
  rows: readonly Row[];
  hasEarlier: boolean;
  render: (row: Row) => ReactNode;
}

export function Printed({ rows, hasEarlier, render }: Props) {
  const title = useLive((live) => live.title);
  const workspace = useLive((live) => live.workspace);
  if (!usePrinting()) return null;
  return (
    <div className="printed hidden print:block">
      <h1 className="text-xl font-semibold">{title}</h1>
      <p className="mb-4 text-xs">{workspace}</p>
      {hasEarlier && <p className="mb-4 text-sm">{t.olderMessagesAreNotPrinted}</p>}
      <OnPaper value={true}>
        {rows.map((row) => (
          <div key={row.key} className="py-2">
            {render(row)}
          </div>
        ))}
      </OnPaper>
    </div>
  );
}

/** Reads the chat to its beginning first. */
export async function printChat(): Promise<void> {
  const first = () => useLive.getState().view?.messages[0]?.id;
  while (useLive.getState().hasEarlier) {
    const before = first();
    await loadEarlier(LONG_PAGE);
    if (first() === before) break; // the server does not answer, or the chat was left
  }
  window.print();
}

/** Drawn before the browser looks, and light: paper is. */
function usePrinting(): boolean {
  const [printing, setPrinting] = useState(false);
  useEffect(() => {
    const begin = () => {
      document.documentElement.classList.remove("dark");
      flushSync(() => setPrinting(true));
    };
    const end = () => {
      applyTheme();
      setPrinting(false);
    };
    window.addEventListener("beforeprint", begin);
    window.addEventListener("afterprint", end);
    return () => {
      window.removeEventListener("beforeprint", begin);
      window.removeEventListener("afterprint", end);
    };
  }, []);
  return printing;
}
