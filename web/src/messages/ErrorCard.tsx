import { TriangleAlert } from "lucide-react";
import { useMay } from "../state/me";
import { t } from "../texts/messages";
import type { Fault, Message } from "../wire/nouns";

const ADVICE: Record<string, string> = {
  provider_bad_key: t.checkTheKeyOfThis,
  provider_untrusted: t.putThatRightInThe,
  no_such_model: t.chooseAnotherModelForThisChat,
  provider_unreachable: t.startTheModelsServerOr,
};

/** What went wrong, in the server's own words, and the way out. */
export function ErrorCard({ message, fault }: { message: Message; fault: Fault }) {
  const advice = ADVICE[fault.code];
  const mends = useMay("PUT /settings");
  return (
    <div role="note" className="flex gap-3 rounded-xl border border-bad/25 bg-bad-soft px-4 py-3 text-sm">
      <TriangleAlert size={17} aria-hidden className="mt-0.5 shrink-0 text-bad" />
      <div className="min-w-0">
        <p className="font-medium text-ink">{t.theTurnEndedEarly}</p>
        <p className="break-words text-ink-2">{message.content}</p>
        {advice && mends && (
          <p className="mt-1 text-ink-2">
            {advice}{" "}
            <a href="#/settings/models" className="underline underline-offset-2 hover:text-ink">
              {t.whoAnswers}
            </a>
          </p>
        )}
      </div>
    </div>
  );
}
