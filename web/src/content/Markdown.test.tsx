import { readFileSync } from "node:fs";
import { screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
import { show } from "../testing/render";
import { targetOf } from "./links";
import { blocksOf, Markdown } from "./Markdown";

const HOSTILE = [
  "<script>window.hacked = true</script>",
  '<img src="x" onerror="window.hacked = true">',
  '<iframe src="https://evil.example"></iframe>',
  '<a href="javascript:window.hacked=true">x</a>',
  "![pixel](https://evil.example/pixel.png)",
  "[click](javascript:alert(1))",
  "[click](data:text/html,<script>alert(1)</script>)",
  '<svg onload="window.hacked=true"></svg>',
  "<style>body{display:none}</style>",
  '<form action="https://evil.example"><input name="a"></form>',
];

describe("hostile text", () => {
  it.each(HOSTILE)("is inert: %s", (text) => {
    const { container } = show(<Markdown text={`Before\n\n${text}\n\nAfter`} />);
    expect(container.querySelector("script, img, iframe, style, form, input, svg[onload], object, embed")).toBeNull();
    for (const link of container.querySelectorAll("a")) expect(link.getAttribute("href")).toMatch(/^(https?|mailto):/);
    for (const element of container.querySelectorAll("*"))
      expect([...element.attributes].filter(({ name }) => name.startsWith("on"))).toEqual([]);
    expect(Reflect.get(window, "hacked")).toBeUndefined();
  });

  it("says where a link leads when its words do not", () => {
    show(<Markdown text="[your bank](https://evil.example/login)" />);
    const link = screen.getByRole("link");
    expect(link.textContent).toContain("(evil.example)");
    expect(link.getAttribute("rel")).toContain("noopener");
  });

  it("names an image instead of loading it", () => {
    show(<Markdown text="![a cat](https://cats.example/1.png)" />);
    expect(screen.getByText(/Image not loaded: a cat/)).toBeTruthy();
  });

  it.each([
    "javascript:alert(1)",
    "data:text/html,x",
    "file:///etc/passwd",
    "//evil.example",
    "notes.md",
    "https://bank.example@evil.example",
  ])("does not follow %s", (href) => {
    expect(targetOf(href)).toBeNull();
  });
});

it("cuts a text into blocks that together are the text", () => {
  const text = "# One\n\nTwo\n\n```js\nlet a = 1;\n\nlet b;\n```\n\n- x\n- y";
  expect(blocksOf(text)).toHaveLength(4);
});

it.each([
  ["### only", [2]],
  ["# a\n\n### b\n\n### c\n\n#### d\n\n## e", [2, 3, 3, 4, 3]],
  ["## a\n\n# b\n\n###### c", [2, 2, 3]],
])("leaves no gap between the levels of the headings of %s", (text, levels) => {
  const { container } = show(<Markdown text={text} />);
  expect([...container.querySelectorAll("h2, h3, h4, h5, h6")].map(({ tagName }) => Number(tagName[1]))).toEqual(
    levels,
  );
});

it("draws a diagram once its fence is closed, and not before", () => {
  const open = "Look:\n\n```mermaid\ngraph LR\n  A --> B";
  const { container, rerender } = show(<Markdown text={open} />);
  expect(container.querySelector("iframe")).toBeNull();
  rerender(<Markdown text={`${open}\n\`\`\``} />);
  const frame = container.querySelector("iframe");
  expect(frame?.getAttribute("sandbox")).toBe("allow-scripts");
  expect(frame?.getAttribute("src")).toBe("/assets/diagram.html");
  expect(blocksOf(`${open}\n\`\`\``).at(-1)?.diagram).toBe("graph LR\n  A --> B");
});

it.each(["```js\nmermaid\n```", "```mermaid\nA\n``", "~~~mermaid\nA\n```", "    mermaid"])(
  "takes %s for no diagram",
  (text) => {
    expect(blocksOf(text).every(({ diagram }) => diagram === null)).toBe(true);
  },
);

it("follows a reference to an address that stands in another block", () => {
  show(<Markdown text={"See [the guide][1].\n\nMore.\n\n[1]: https://docs.example/guide"} />);
  expect(screen.getByRole("link").getAttribute("href")).toBe("https://docs.example/guide");
  expect(screen.queryByText(/\[1\]/)).toBeNull();
});

it.each(["light", "dark"])("has links that stand out from every ground they can stand on: %s", (scheme) => {
  const css = readFileSync("src/style.css", "utf8");
  const block = new RegExp(`^${scheme === "dark" ? "\\.dark" : ":root"} \\{([^}]*)\\}`, "m").exec(css)?.[1] ?? "";
  const colour = (name: string) => new RegExp(`--${name}: (#[0-9a-f]{6});`).exec(block)?.[1] ?? "";
  for (const ground of ["paper", "surface", "sunken", "bad-soft", "warn-soft", "good-soft"])
    expect([ground, contrast(colour("link"), colour(ground)) >= 4.5]).toEqual([ground, true]);
  show(<Markdown text="[a](https://example.org)" />);
  expect(screen.getByRole("link").className).toContain("text-link");
});

/** As WCAG 2 has it; NaN where one of them is no colour. */
function contrast(one: string, other: string): number {
  const [dark, light] = [one, other].map(luminance).sort((a, b) => a - b);
  return (light! + 0.05) / (dark! + 0.05);
}

function luminance(colour: string): number {
  const parts = [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16) / 255);
  const [red, green, blue] = parts.map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!;
}

it("leaves out no level of the headings, whichever signs a model chose, and stands below the title of the chat", () => {
  const { container } = show(<Markdown text={"### A\n\n##### B\n\n# C\n\n#### D\n\n###### E"} />);
  const headings = [...container.querySelectorAll("h1, h2, h3, h4, h5, h6")].map(
    (one) => one.tagName + one.textContent,
  );
  expect(headings).toEqual(["H2A", "H3B", "H2C", "H3D", "H4E"]);
});

it("keeps the words of a note", () => {
  show(<Markdown text={"It is so.[^1]\n\n[^1]: As the manual says.\n\n[^2]: https://docs.example"} />);
  expect(screen.getByText(/As the manual says/).textContent).toBe("[^1]: As the manual says.");
  expect(screen.getByRole("link").getAttribute("href")).toBe("https://docs.example/");
});

it("lets each block run the way of its own words", () => {
  const { container } = show(<Markdown text={"# שלום\n\nمرحبا `a`\n\n- אחת\n\n> ציטוט\n\nEnglish"} />);
  expect([...container.querySelectorAll(".prose > *")].map((block) => block.getAttribute("dir"))).toEqual([
    "auto",
    null,
    "auto",
    "auto",
    null,
  ]); // a paragraph by its style
});

it("colours the lines of a diff", async () => {
  const { container } = show(<Markdown text={"```diff\n-old\n+new\n```"} />);
  await waitFor(() => expect(container.querySelector(".hljs-addition")?.textContent).toBe("+new"));
  expect(container.querySelector(".hljs-deletion")?.textContent).toBe("-old");
});

it("draws formulas as MathML, and leaves money and code alone", async () => {
  const text = "Of $x^2$ and \\(y\\): it costs $5 to $10, `$z$`.\n\n$$\n\\frac{a}{b}\n$$";
  const { container } = show(<Markdown text={text} />);
  await waitFor(() => expect(container.querySelectorAll("math")).toHaveLength(3));
  expect(container.querySelector("msup")?.textContent).toBe("x2");
  expect(container.querySelector("math[display=block] mfrac")).toBeTruthy();
  expect(container.textContent).toContain("it costs $5 to $10");
  expect([...container.querySelectorAll("code")].map((code) => code.textContent)).toEqual(["$z$"]);
});

it("shows a formula that cannot be read as it was written, and lets none of it act", async () => {
  const { container } = show(<Markdown text={"$\\frac{$ and $\\href{javascript:alert(1)}{x}$"} />);
  await waitFor(() => expect(container.querySelector("math")).toBeTruthy());
  expect(container.querySelector("a, [href], [style]")).toBeNull();
  expect(container.querySelector("code")?.textContent).toBe("\\frac{");
});

it("wraps long lines of code on request", async () => {
  const { container } = show(<Markdown text={`\`\`\`\n${"long ".repeat(40)}\n\`\`\``} />);
  await userEvent.click(screen.getByRole("button", { name: "Wrap long lines" }));
  expect(container.querySelector("pre")?.className).toContain("whitespace-pre-wrap");
});
