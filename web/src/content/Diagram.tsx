// A diagram that a model wrote, drawn in a frame that can do nothing else; its source is one press away, and stands there if it fails.

import { createContext, useContext, useEffect, useRef, useState } from "react";
import { readReport } from "../diagram/talk";
import { t } from "../texts/messages";
import { Code } from "./Code";

const FRAME = "/assets/diagram.html";
const LONGEST = 20_000; // characters; beyond, drawing costs more than it tells
const heights = new Map<string, number>(); // rows come and go while one scrolls: the second time nothing jumps

export const OnPaper = createContext(false);

export function Diagram({ text }: { text: string }) {
  const [failure, setFailure] = useState<string | null>(text.length > LONGEST ? t.itIsTooLongTo : null);
  const [source, setSource] = useState(false);
  if (useContext(OnPaper)) return <Code text={text} language="mermaid" />; // a frame would be loaded when the paper is out already
  if (failure !== null) {
    return (
      <>
        <Code text={text} language="mermaid" />
        <p className="-mt-2 mb-3 text-xs break-words text-ink-3">{t.thisDiagramCouldNotBe(failure)}</p>
      </>
    );
  }
  return (
    <figure className="my-3 overflow-hidden rounded-xl border border-line bg-surface">
      <figcaption className="flex h-8 items-center justify-between border-b border-line pr-1 pl-3.5 text-xs text-ink-3">
        {t.diagram}
        <button
          type="button"
          aria-pressed={source}
          onClick={() => setSource(!source)}
          className="rounded-md px-2 py-1 hover:bg-sunken hover:text-ink"
        >
          {t.source}
        </button>
      </figcaption>
      {source ? (
        <div className="px-3">
          <Code text={text} language="mermaid" />
        </div>
      ) : (
        <Frame text={text} onFailure={setFailure} />
      )}
    </figure>
  );
}

function Frame({ text, onFailure }: { text: string; onFailure: (reason: string) => void }) {
  const frame = useRef<HTMLIFrameElement>(null);
  const [height, setHeight] = useState(heights.get(text) ?? 160);
  const [drawn, setDrawn] = useState(false);
  useEffect(() => {
    const onMessage = ({ source, origin, data }: MessageEvent) => {
      // A sandboxed frame has no origin; whoever has one is not it.
      const report = source === frame.current?.contentWindow && origin === "null" ? readReport(data) : null;
      if (!report) return;
      if (report.is === "ready") {
        frame.current?.contentWindow?.postMessage(
          { draw: text, dark: document.documentElement.classList.contains("dark") },
          "*",
        );
      } else if (report.is === "drawn") {
        heights.set(text, report.height);
        setHeight(report.height);
        setDrawn(true);
      } else {
        onFailure(report.reason);
      }
    };
    window.addEventListener("message", onMessage);
    return () => window.removeEventListener("message", onMessage);
  }, [text, onFailure]);
  return (
    <div className="relative">
      {!drawn && (
        <p className="late absolute inset-0 flex items-center justify-center text-sm text-ink-3">{t.drawing}</p>
      )}
      <iframe
        ref={frame}
        data-drawn={drawn}
        src={FRAME}
        title={t.diagram}
        sandbox="allow-scripts"
        referrerPolicy="no-referrer"
        className="relative block w-full"
        height={height + 24}
      />
    </div>
  );
}
