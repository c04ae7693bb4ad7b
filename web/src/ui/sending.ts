// One wish at a time: what is pressed twice is sent once, and its button rests until the answer is there.
import { useCallback, useRef, useState } from "react";
import { attempt } from "../ui/outcomes";

export type Send = (of: string, act: () => Promise<unknown>) => Promise<boolean>;

/** What is on its way, by the name it was given; and the way to send. False if it was not done. */
export function useSending(): readonly [sending: string | null, send: Send] {
  const [sending, setSending] = useState<string | null>(null);
  const busy = useRef(false); // two clicks of one moment see the same state
  const send = useCallback<Send>(async (of, act) => {
    if (busy.current) return false;
    busy.current = true;
    setSending(of);
    const done = await attempt(act());
    busy.current = false;
    setSending(null);
    return done;
  }, []);
  return [sending, send];
}
