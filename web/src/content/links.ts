// Where a link really leads. Text from models and files is shown inert: only plain web and mail addresses can be followed. Pure.

interface Target {
  href: string;
  host: string;
}

/** null: not an address that is safe to follow. */
export function targetOf(href: string | undefined): Target | null {
  if (!href) return null;
  let url: URL;
  try {
    url = new URL(href);
  } catch {
    return null; // relative: there is nothing of ours that a model should link to
  }
  if (url.protocol === "mailto:") return { href: url.href, host: url.pathname };
  if (url.protocol !== "https:" && url.protocol !== "http:") return null;
  if (url.username || url.password) return null; // https://bank.example@evil.example
  return { href: url.href, host: url.host };
}

/** The words already say where it leads. */
export function saysWhere(words: string, target: Target): boolean {
  const said = words
    .trim()
    .toLowerCase()
    .replace(/^https?:\/\//, "");
  return said === target.host || said.startsWith(`${target.host}/`);
}
