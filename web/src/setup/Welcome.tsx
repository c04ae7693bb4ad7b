// Who answers, said at the start. While it is only the guide, the ways to a real model stand here; it can be put away.

import clsx from "clsx";
import { KeyRound, Laptop, LifeBuoy } from "lucide-react";
import { lazy, type ReactNode, Suspense, useState } from "react";
import { setPreference, usePreference } from "../browser/preferences";
import { defaultModel, shownModel } from "../models/choices";
import { awaitsDigits, useMe } from "../state/me";
import { t } from "../texts/start";
import { Button } from "../ui/Button";
import type { Provider } from "../wire/nouns";
import { focusDigits } from "./ConfirmSession";

const ConnectDialog = lazy(() => import("./ConnectDialog"));

export function Welcome({ providers }: { providers: readonly Provider[] }) {
  const [connecting, setConnecting] = useState(false);
  const waits = awaitsDigits(useMe());
  const connect = () => {
    setConnecting(true);
    if (waits) focusDigits(); // the dialog opens once they are entered
  };
  return (
    <>
      <Answerer providers={providers} onConnect={connect} />
      {/* It stays while it is filled in, whoever answers meanwhile. */}
      {connecting && !waits && (
        <Suspense fallback={null}>
          <ConnectDialog onClose={() => setConnecting(false)} />
        </Suspense>
      )}
    </>
  );
}

function Answerer({ providers, onConnect }: { providers: readonly Provider[]; onConnect: () => void }) {
  const welcomed = usePreference("welcomed");
  const answering = providers.find((one) => one.default);
  if (!answering) return <Answering words="" />; // so that what is above it stays where it is
  if (answering.kind !== "guide") return <Answering words={shownModel(defaultModel(providers)).replace("/", " · ")} />;
  if (welcomed) return <Answering words={t.theBuiltInGuideNo} />;
  return (
    <section aria-labelledby="welcome" className="mt-10 rounded-2xl border border-line bg-surface p-5 sm:p-6">
      <h2 id="welcome" className="font-semibold">
        {t.youCanStartRightAway}
      </h2>
      <p className="mt-1 text-sm text-ink-2">{t.noAccountNoKeyNothing}</p>
      <ul className="mt-4 grid gap-3 sm:grid-cols-3">
        <Way icon={<LifeBuoy size={17} aria-hidden />} title={t.theGuideAnswersNow}>
          {t.builtInAndHonestNot}
        </Way>
        <Way icon={<KeyRound size={17} aria-hidden />} title={t.withAKey}>
          {t.pasteAKey}
        </Way>
        <Way icon={<Laptop size={17} aria-hidden />} title={t.withALocalModel}>
          {t.startOllamaLmStudioOr}
        </Way>
      </ul>
      <div className="mt-5 flex flex-wrap gap-2">
        <Button look="primary" onClick={onConnect}>
          {t.connectAModel}
        </Button>
        <Button onClick={() => setPreference("welcomed", "yes")}>{t.goOnWithTheGuide}</Button>
      </div>
    </section>
  );
}

function Way({ icon, title, children }: { icon: ReactNode; title: string; children: ReactNode }) {
  return (
    <li className="rounded-xl bg-sunken/60 p-3.5 text-sm">
      <p className="mb-1 flex items-center gap-2 font-medium">
        <span className="text-ink-3">{icon}</span>
        {title}
      </p>
      <p className="text-[13px] leading-snug text-ink-2">{children}</p>
    </li>
  );
}

function Answering({ words }: { words: string }) {
  return (
    <p className={clsx("mt-8 text-center text-xs text-ink-3", !words && "invisible")}>
      {words} ·{" "}
      <a href="#/settings/models" className="underline underline-offset-2 hover:text-ink">
        {t.whoAnswers}
      </a>
    </p>
  );
}
