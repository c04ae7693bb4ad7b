// What the server says of a draft while it is typed. Nothing is saved by asking.
import { useEffect, useRef, useState } from "react";

const PAUSE_MS = 300;

/** The newest answer, and whether it is about the draft as it stands now; null before the first. */
export function useChecked<Draft, Found>(
  draft: Draft,
  check: (draft: Draft) => Promise<Found>,
): { found: Found; current: boolean } | null {
  const key = JSON.stringify(draft);
  const [answer, setAnswer] = useState<{ key: string; found: Found } | null>(null);
  const latest = useRef({ draft, check });
  latest.current = { draft, check };
  useEffect(() => {
    let left = false;
    const timer = setTimeout(() => {
      const { draft: now, check: ask } = latest.current;
      ask(now).then(
        (found) => !left && setAnswer({ key, found }),
        () => {}, // saving tells what is wrong
      );
    }, PAUSE_MS);
    return () => {
      left = true;
      clearTimeout(timer);
    };
  }, [key]);
  return answer && { found: answer.found, current: answer.key === key };
}
