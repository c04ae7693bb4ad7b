// Every text of the page stands in one place, in every language.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { texts as german } from "./de";
import { bytesText, chosen } from "./language";

const SOURCE = join(import.meta.dirname, "..");
const areas = readdirSync(import.meta.dirname)
  .filter((name) => name.endsWith(".ts") && !name.includes(".test.") && name !== "language.ts")
  .map((name) => name.slice(0, -3));

/** Every key with the kind of its value and how much it takes: `a.b: string`, `a.c: function/2`. */
function shapeOf(value: unknown, path = ""): string[] {
  if (typeof value === "function") return [`${path}: function/${value.length}`];
  if (typeof value !== "object" || value === null) return [`${path}: ${typeof value}`];
  return Object.entries(value).flatMap(([key, inner]) => shapeOf(inner, path ? `${path}.${key}` : key));
}

describe.each(areas)("the texts of %s", (area) => {
  it("have every key in both languages", async () => {
    const { en } = (await import(`./${area}.ts`)) as { en: object };
    expect(shapeOf(german[area as keyof typeof german])).toEqual(expect.arrayContaining(shapeOf(en)));
    expect(shapeOf(german[area as keyof typeof german]).length).toBe(shapeOf(en).length);
  });
});

it("loads nothing else with the German texts: the page waits for them", () => {
  for (const name of readdirSync(join(import.meta.dirname, "de"))) {
    const imports = parsed(join(import.meta.dirname, "de", name)).statements.filter(ts.isImportDeclaration);
    const loaded = imports.filter(
      (one) => one.importClause?.phaseModifier !== ts.SyntaxKind.TypeKeyword && !one.importClause?.isTypeOnly,
    );
    expect(loaded.map((one) => one.getText()).filter((one) => !/"\.\/\w+"/.test(one))).toEqual([]);
  }
});

it("names undoing alike everywhere: files are restored, and what was done is undone", () => {
  const others =
    /roll(ed|s)? ?back|(go|went|goes) back to|(take|took|taken)s? (\w+ )?back|revert|zurücknehm|zurückgenommen|Sicherungspunkt/i;
  const folders = [import.meta.dirname, join(import.meta.dirname, "de")];
  const texts = folders.flatMap((folder) =>
    readdirSync(folder)
      .filter((name) => name.endsWith(".ts") && !name.includes(".test."))
      .flatMap((name) => stringsIn(parsed(join(folder, name)))),
  );
  expect(texts.length).toBeGreaterThan(1000);
  expect(texts.filter((text) => others.test(text))).toEqual([]);
});

/** Every literal and every part of a template that stands in a file. */
function stringsIn(node: ts.Node): string[] {
  const own =
    ts.isStringLiteralLike(node) || ts.isTemplateHead(node) || ts.isTemplateMiddle(node) || ts.isTemplateTail(node);
  const found = own ? [node.text] : [];
  node.forEachChild((child) => void found.push(...stringsIn(child)));
  return found;
}

it("takes the language that was set, else the browser's first that there are texts for", () => {
  expect(chosen("de", ["en-GB"])).toBe("de");
  expect(chosen(null, ["fr", "de-AT", "en"])).toBe("de");
  expect(chosen("", ["en-US", "de"])).toBe("en");
  expect(chosen("xx", [])).toBe("en");
});

it("finds no text for people outside the texts", () => {
  const found = sources(SOURCE).flatMap((file) =>
    literals(file).map((text) => `${file.slice(SOURCE.length + 1)}: ${text}`),
  );
  expect(found).toEqual([]);
});

const SEEN = new Set(["aria-label", "title", "placeholder", "alt", "label", "hint", "about", "words", "note"]);
// Examples of paths and addresses, names of keys, and the product's name are the same in every language.
const SAME = /^(AnyCowork|\/home\/me\/project|\/notes\/\*|https?:.*|[⇧⌘↵↑↓ ]*[A-Z]?|Mod|Alt|Ctrl|Enter|Escape|Tab)$/;
const SENTENCE = /^[A-Z][a-z]+,? [a-z]+ .*|^[A-Z][a-z]+ .*[.…!?]$/;

function literals(file: string): string[] {
  const found: string[] = [];
  const keep = (text: string) => /\p{L}{2}/u.test(text) && !SAME.test(text.trim()) && found.push(text.trim());
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node)) return;
    if (ts.isJsxText(node)) keep(node.text);
    else if (ts.isJsxAttribute(node) && node.initializer && ts.isStringLiteral(node.initializer)) {
      if (SEEN.has(node.name.getText())) keep(node.initializer.text);
    } else if (ts.isStringLiteralLike(node) && SENTENCE.test(node.text)) keep(node.text);
    else if (ts.isTemplateExpression(node) && SENTENCE.test(node.head.text)) keep(node.getText());
    ts.forEachChild(node, visit);
  };
  visit(parsed(file));
  return found;
}

function sources(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return ["texts", "testing", "diagram"].includes(entry.name) ? [] : sources(path);
    return /\.tsx?$/.test(entry.name) && !/\.test\.|api\.gen/.test(entry.name) ? [path] : [];
  });
}

function parsed(file: string): ts.SourceFile {
  return ts.createSourceFile(file, readFileSync(file, "utf8"), ts.ScriptTarget.Latest, true, ts.ScriptKind.TSX);
}

it("says sizes as the terminal says them", () => {
  const told = JSON.parse(readFileSync("../tests/support/sizes.json", "utf8")) as [number, string][];
  expect(told.map(([bytes]) => bytesText(bytes))).toEqual(told.map(([, text]) => text));
  const inGerman = (text: string) =>
    text.replace(/[.,]/g, (sign) => (sign === "." ? "," : ".")).replace("bytes", "Byte");
  expect(told.map(([bytes]) => german.settings.size(bytes))).toEqual(told.map(([, text]) => inGerman(text)));
});
