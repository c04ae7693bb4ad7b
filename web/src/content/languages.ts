// The language of a file, by its name, as the colours know it.

const BY_ENDING: Readonly<Record<string, string>> = {
  bash: "bash",
  cjs: "javascript",
  css: "css",
  diff: "diff",
  go: "go",
  htm: "xml",
  html: "xml",
  java: "java",
  js: "javascript",
  json: "json",
  jsonc: "json",
  jsx: "javascript",
  md: "markdown",
  mjs: "javascript",
  patch: "diff",
  py: "python",
  pyi: "python",
  rs: "rust",
  sh: "bash",
  sql: "sql",
  svg: "xml",
  ts: "typescript",
  tsx: "typescript",
  xml: "xml",
  yaml: "yaml",
  yml: "yaml",
  zsh: "bash",
};

export function languageOf(path: string): string | null {
  const name = path.slice(path.lastIndexOf("/") + 1).toLowerCase();
  const dot = name.lastIndexOf(".");
  return dot > 0 ? (BY_ENDING[name.slice(dot + 1)] ?? null) : null;
}
