import { t } from "../texts/server";

/** A sentence of the server in the page's language; marked as English where there is only that. */
export function ServerText({ english }: { english: string }) {
  const words = t.sentence(english);
  return <span lang={words === english ? "en" : undefined}>{words}</span>;
}
