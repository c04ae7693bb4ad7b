import { TriangleAlert } from "lucide-react";
import type { Fault, Message } from "../wire/nouns";

const ADVICE: Record<string, string> = {
  provider_bad_key: "Check the key of this provider, then send the message again.",
  provider_untrusted: "Put that right in the settings, then send the message again.",
  provider_unreachable: "Start the model's server or choose another one, then send the message again.",
};

/** What went wrong, in the house's own words, and the way out. */
export function ErrorCard({ message, fault }: { message: Message; fault: Fault }) {
  const advice = ADVICE[fault.code];
  return (
    <div role="note" className="flex gap-3 rounded-xl border border-bad/25 bg-bad-soft px-4 py-3 text-sm">
      <TriangleAlert size={17} aria-hidden className="mt-0.5 shrink-0 text-bad" />
      <div className="min-w-0">
        <p className="font-medium text-ink">The turn ended early</p>
        <p className="break-words text-ink-2">{message.content}</p>
        {advice && (
          <p className="mt-1 text-ink-2">
            {advice}{" "}
            <a href="#/settings/answers" className="underline underline-offset-2 hover:text-ink">
              Who answers
            </a>
          </p>
        )}
      </div>
    </div>
  );
}
