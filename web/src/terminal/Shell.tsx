// A real terminal in the page: a shell of the person on the server, drawn by xterm.js. It survives a reload of the page for a while.

import { FitAddon } from "@xterm/addon-fit";
import { type ITheme, Terminal } from "@xterm/xterm";
import "@xterm/xterm/css/xterm.css";
import { useEffect, useRef, useState } from "react";
import { t } from "../texts/terminal";
import { Button } from "../ui/Button";
import { useNarrow } from "../ui/narrow";
import { readTerminal, resizeTerminal, typeInTerminal } from "./acts";

interface Props {
  chatId: string;
  id: string;
  onLeave: () => void;
}

const LONGEST_INPUT = 60_000; // characters of one request

// Colours beyond the first 256, and those that contrast asks for, are drawn as style attributes of spans. The page's policy blocks these;
// set as properties they are allowed.
const setAttribute = HTMLSpanElement.prototype.setAttribute;
HTMLSpanElement.prototype.setAttribute = function (name, text) {
  if (name === "style") this.style.cssText = text;
  else setAttribute.call(this, name, text);
};

/** Ctrl+Shift+Escape leaves it by keyboard: every other key belongs to the programs in it. */
export default function Shell({ chatId, id, onLeave }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [lost, setLost] = useState(false);
  const narrow = useNarrow();
  const shown = useRef<Terminal>(null);
  const leave = useRef(onLeave);
  leave.current = onLeave;
  useEffect(() => {
    const styles: CSSStyleSheet[] = [];
    const term = new Terminal({
      fontFamily: "ui-monospace, SFMono-Regular, Menlo, Consolas, monospace",
      fontSize: 13,
      scrollback: 5000,
      screenReaderMode: true,
      allowProposedApi: false,
      minimumContrastRatio: 4.5, // programs choose colours for grounds that they do not know
      theme: themeOf(box.current!),
    });
    shown.current = term;
    const fit = new FitAddon();
    const ended = new AbortController();
    term.loadAddon(fit);
    withAdoptedStyles(styles, () => term.open(box.current!));
    term.attachCustomKeyEventHandler((event) => {
      if (event.key !== "Escape" || !event.ctrlKey || !event.shiftKey) return true;
      event.preventDefault();
      if (event.type === "keydown") leave.current();
      return false;
    });
    let replays = false; // what is drawn was seen before: its questions were answered then
    const typed = queue((text) => typeInTerminal(chatId, id, text));
    term.onData((text) => !replays && typed(text));
    const sized = latest((rows: number, columns: number) => resizeTerminal(chatId, id, rows, columns));
    term.onResize(({ rows, cols }) => sized(rows, cols));
    const watched = new ResizeObserver(() => fit.fit());
    watched.observe(box.current!);
    fit.fit();
    sized(term.rows, term.cols);
    term.focus();
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const recolour = () => {
      term.options.theme = themeOf(box.current!);
    };
    dark.addEventListener("change", recolour);
    const restyled = new MutationObserver(recolour);
    restyled.observe(document.documentElement, { attributes: true });
    void readTerminal(
      chatId,
      id,
      ended.signal,
      (piece, isReplay) =>
        new Promise<void>((drawn) => {
          replays = isReplay;
          term.write(piece, () => {
            replays = false;
            drawn();
          });
        }),
    )
      .then((started) => started || setLost(true))
      .catch(() => !ended.signal.aborted && setLost(true));
    return () => {
      ended.abort();
      watched.disconnect();
      restyled.disconnect();
      dark.removeEventListener("change", recolour);
      term.dispose();
      document.adoptedStyleSheets = document.adoptedStyleSheets.filter((sheet) => !styles.includes(sheet));
    };
  }, [chatId, id]);
  return (
    <>
      <div ref={box} className="min-h-0 flex-1 overflow-hidden px-2 py-1" />
      {lost && (
        <p role="alert" className="border-t border-line px-3 py-1 text-sm text-bad">
          {t.connectionLost}
        </p>
      )}
      {narrow && <MissingKeys press={(key) => press(shown.current, key)} />}
      <p className="shrink-0 border-t border-line px-3 py-1 text-xs text-ink-3">
        {t.aboutTerminal} {!narrow && t.leavesTerminal}
      </p>
    </>
  );
}

const KEYS = {
  escape: "\x1b",
  tab: "\t",
  interrupt: "\x03",
  end: "\x04",
  up: "A",
  down: "B",
  left: "D",
  right: "C",
} as const;
type Key = keyof typeof KEYS;

/** The keys that programs need and the keyboard of a phone lacks. */
function MissingKeys({ press }: { press: (key: Key) => void }) {
  return (
    <div role="group" aria-label={t.missingKeys} className="flex shrink-0 overflow-x-auto border-t border-line px-1">
      {(Object.keys(KEYS) as Key[]).map((key) => (
        <Button
          key={key}
          look="quiet"
          aria-label={t.keyNames[key]}
          className="!px-2.5 font-mono"
          onPointerDown={(event) => event.preventDefault()} // the keyboard stays open
          onClick={() => press(key)}
        >
          {t.keys[key]}
        </Button>
      ))}
    </div>
  );
}

function press(term: Terminal | null, key: Key): void {
  const code = KEYS[key];
  const arrow = term?.modes.applicationCursorKeysMode ? "\x1bO" : "\x1b[";
  term?.input(/[A-D]/.test(code) ? arrow + code : code);
  term?.focus();
}

/** Runs what makes style elements. They become style sheets that the page adopts: its policy allows no style in the text of a page. */
function withAdoptedStyles(styles: CSSStyleSheet[], open: () => void): void {
  const plain = document.createElement.bind(document);
  const create = (tag: string) => {
    if (tag !== "style") return plain(tag);
    const sheet = new CSSStyleSheet();
    const element = plain("span");
    element.hidden = true;
    Object.defineProperty(element, "textContent", { set: (text: string) => sheet.replaceSync(text) });
    styles.push(sheet);
    return element;
  };
  Object.defineProperty(document, "createElement", { value: create, configurable: true });
  try {
    open();
  } finally {
    Reflect.deleteProperty(document, "createElement");
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, ...styles];
  }
}

/** Sends one after the other what is typed meanwhile, so that nothing overtakes. */
function queue(send: (text: string) => Promise<unknown>): (text: string) => void {
  let waiting = "";
  let busy = false;
  const next = async () => {
    busy = true;
    while (waiting) {
      const text = waiting.slice(0, LONGEST_INPUT);
      waiting = waiting.slice(LONGEST_INPUT);
      await send(text).catch(() => {
        waiting = ""; // its program reads nothing, or it is over
      });
    }
    busy = false;
  };
  return (text) => {
    waiting += text;
    if (!busy) void next();
  };
}

/** Sends the newest only, one at a time. */
function latest<Values extends unknown[]>(send: (...values: Values) => Promise<unknown>): (...values: Values) => void {
  let waiting: Values | null = null;
  let busy = false;
  const next = async () => {
    busy = true;
    while (waiting) {
      const values = waiting;
      waiting = null;
      await send(...values).catch(() => undefined);
    }
    busy = false;
  };
  return (...values) => {
    waiting = values;
    if (!busy) void next();
  };
}

/** The colours of the page, light or dark. */
function themeOf(element: HTMLElement): ITheme {
  const style = getComputedStyle(element);
  const background = getComputedStyle(element.closest("section") ?? element).backgroundColor;
  const bright = isBright(background);
  return {
    background,
    foreground: style.color,
    cursor: style.color,
    selectionBackground: bright ? "#b3d4fc" : "#3a5878",
    ...(bright ? LIGHT : DARK),
  };
}

const LIGHT = {
  black: "#1f2328", red: "#b3202c", green: "#116329", yellow: "#7a4d00", blue: "#0550ae", magenta: "#7a2fb0", cyan: "#1b6a76",
  white: "#57606a", brightBlack: "#57606a", brightRed: "#a40e26", brightGreen: "#1a6b34", brightYellow: "#6b4400",
  brightBlue: "#0a4fb3", brightMagenta: "#7530a8", brightCyan: "#17616c", brightWhite: "#424a53",
}; // biome-ignore format: two lines of colours
const DARK = {
  black: "#8b949e",
  red: "#ff7b72",
  green: "#56d364",
  yellow: "#e3b341",
  blue: "#79c0ff",
  magenta: "#d2a8ff",
  cyan: "#56d4dd",
  white: "#d0d7de",
  brightBlack: "#a0a8b0",
  brightRed: "#ffa198",
  brightGreen: "#7ee787",
  brightYellow: "#f2cc60",
  brightBlue: "#a5d6ff",
  brightMagenta: "#e2c5ff",
  brightCyan: "#80e5ee",
  brightWhite: "#ffffff",
};

function isBright(colour: string): boolean {
  const [red = 255, green = 255, blue = 255] = (colour.match(/[\d.]+/g) ?? []).map(Number);
  const scale = colour.startsWith("rgb") ? 255 : 1;
  return colour.startsWith("oklch") || colour.startsWith("oklab") ? red > 0.5 : (red + green + blue) / 3 / scale > 0.5;
}
