import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, describe, expect, it } from "vitest";
import { useLive } from "../state/live";
import { useFilesPane } from "../state/openFiles";
import { show } from "../testing/render";
import { Markdown } from "./Markdown";
import { Output } from "./Output";
import { partsOf, type TextKind } from "./pathsInText";

const paths = (text: string, kind: TextKind) =>
  partsOf(text, kind).flatMap(({ path, line }) => (path ? [line ? `${path}:${line}` : path] : []));

describe("paths in free text", () => {
  it.each<[TextKind, string, string[]]>([
    ["prose", "I changed src/app.py, and web/src/a-b.tsx.", ["src/app.py", "web/src/a-b.tsx"]],
    ["prose", "See ./src/app.py:12 (or src/app.py#L7).", ["./src/app.py:12", "src/app.py:7"]],
    ["prose", "Node.js and/or e.g. 1/2, v1.2/3.4, http://a.example/b.html", []],
    ["prose", "../secret.txt ~/notes/a.txt a//b.py", []],
    ["code", "app.py", ["app.py"]],
    ["code", "os.path", []],
    ["code", "npm run build", []],
    ["code", "Makefile", ["Makefile"]],
    ["output", 'File "src/app.py", line 3', ["src/app.py"]],
    ["output", "app.py:3: error", ["app.py:3"]],
    ["output", "app.py changed", []],
    ["output", "src/Ünïcode/文件.md:4:2 note", ["src/Ünïcode/文件.md:4"]],
  ])("in %s: %s", (kind, text, expected) => {
    expect(paths(text, kind)).toEqual(expected);
  });

  it.each(["a/".repeat(50_000), "a.".repeat(50_000), "a/b.py ".repeat(20_000), "src/a.py:".repeat(10_000)])(
    "keeps every character, whatever comes",
    (text) => {
      const parts = partsOf(text, "prose");
      expect(parts.map((part) => part.text).join("")).toBe(text);
      expect(parts.filter(({ path }) => path).length).toBeLessThanOrEqual(200);
    },
  );
});

describe("in a chat", () => {
  beforeEach(() => {
    useLive.setState({ chatId: "c1", workspace: "/home/anna/zebra" });
    useFilesPane.setState({ open: false, path: null, line: null });
  });

  it("a path in a model's words, in code, in a link and in output leads to the file", async () => {
    show(
      <>
        <Markdown text={"Look at **src/a.py:3**, `b.py` and [the notes](docs/notes.md)."} />
        <Output text="/home/anna/zebra/src/c.py:9: boom" />
      </>,
    );
    for (const [words, path, line] of [
      ["src/a.py:3", "src/a.py", 3],
      ["b.py", "b.py", null],
      ["the notes", "docs/notes.md", null],
      ["/home/anna/zebra/src/c.py:9", "src/c.py", 9],
    ] as const) {
      await userEvent.click(screen.getByRole("button", { name: words }));
      expect(useFilesPane.getState()).toMatchObject({ open: true, path, line });
    }
  });

  it("what lies outside stays text, and so does everything without a chat", () => {
    show(<Markdown text={"/etc/cron.d/x.conf and [x](/etc/a.conf)"} />);
    expect(screen.queryByRole("button")).toBeNull();
    useLive.setState({ chatId: null, workspace: "" });
    show(<Markdown text="src/a.py" />);
    expect(screen.queryByRole("button")).toBeNull();
  });
});
