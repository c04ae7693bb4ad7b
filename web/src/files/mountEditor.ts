// CodeMirror, loaded with the first edit. It stands in a shadow root: there its styles are sheets that the page's policy allows.
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { javascript } from "@codemirror/lang-javascript";
import { json } from "@codemirror/lang-json";
import { markdown } from "@codemirror/lang-markdown";
import { python } from "@codemirror/lang-python";
import { bracketMatching, HighlightStyle, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { EditorState, type Extension } from "@codemirror/state";
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  highlightSpecialChars,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { languageOf } from "../content/languages";

export interface Mounted {
  text: () => string;
  destroy: () => void;
}

interface Wanted {
  text: string;
  path: string;
  label: string;
  line: number | null;
  onChange: (text: string) => void;
  onSave: () => void;
}

export function mountEditor(place: HTMLElement, wanted: Wanted): Mounted {
  const root = place.shadowRoot ?? place.attachShadow({ mode: "open" });
  root.replaceChildren();
  const view = new EditorView({
    parent: root,
    root,
    state: EditorState.create({ doc: wanted.text, extensions: extensions(wanted) }),
  });
  if (wanted.line && wanted.line <= view.state.doc.lines) {
    const { from } = view.state.doc.line(wanted.line);
    view.dispatch({ selection: { anchor: from }, effects: EditorView.scrollIntoView(from, { y: "center" }) });
  }
  view.focus();
  return { text: () => view.state.doc.toString(), destroy: () => view.destroy() };
}

function extensions({ path, label, onChange, onSave }: Wanted): Extension[] {
  const save = { key: "Mod-s", preventDefault: true, run: () => saved(onSave) };
  return [
    lineNumbers(),
    highlightSpecialChars(),
    history(),
    drawSelection(),
    indentOnInput(),
    bracketMatching(),
    highlightActiveLine(),
    highlightActiveLineGutter(),
    highlightSelectionMatches(),
    syntaxHighlighting(COLOURS),
    keymap.of([save, ...defaultKeymap, ...searchKeymap, ...historyKeymap, indentWithTab]),
    languageFor(path),
    EditorView.contentAttributes.of({ "aria-label": label }),
    EditorView.updateListener.of((update) => update.docChanged && onChange(update.state.doc.toString())),
    LOOK,
  ];
}

function languageFor(path: string): Extension {
  switch (languageOf(path)) {
    case "python":
      return python();
    case "javascript":
      return javascript({ jsx: true });
    case "typescript":
      return javascript({ jsx: true, typescript: true });
    case "json":
      return json();
    case "markdown":
      return markdown();
    default:
      return [];
  }
}

const COLOURS = HighlightStyle.define([
  { tag: [tags.keyword, tags.bool, tags.null], color: "var(--code-keyword)" },
  { tag: [tags.string, tags.regexp], color: "var(--code-string)" },
  { tag: [tags.number, tags.propertyName, tags.attributeName], color: "var(--code-number)" },
  { tag: [tags.comment, tags.quote], color: "var(--ink-3)", fontStyle: "italic" },
  { tag: [tags.heading, tags.typeName, tags.className, tags.function(tags.variableName)], color: "var(--code-title)" },
]);

const LOOK = EditorView.theme({
  "&": { height: "100%", color: "var(--ink)", backgroundColor: "transparent", fontSize: "12.5px" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: 'ui-monospace, Menlo, Consolas, "Liberation Mono", monospace', lineHeight: "20px" },
  ".cm-content": { caretColor: "var(--ink)" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  ".cm-gutters": { backgroundColor: "var(--surface)", color: "var(--ink-3)", border: "none" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "color-mix(in srgb, var(--sunken) 70%, transparent)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "color-mix(in srgb, var(--focus) 30%, transparent)",
  },
  ".cm-specialChar": { color: "var(--bad)" },
  ".cm-panels": { backgroundColor: "var(--sunken)", color: "var(--ink)" },
});

/** True: the key was meant for this, whatever becomes of it. */
function saved(save: () => void): boolean {
  save();
  return true;
}
