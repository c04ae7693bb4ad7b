// The server itself: its version, where it keeps everything, and whether its record is whole.
import { useQuery } from "@tanstack/react-query";
import { ShieldCheck } from "lucide-react";
import { useState } from "react";
import { t } from "../texts/settings";
import { Button } from "../ui/Button";
import { Copy } from "../ui/Copy";
import { attempt } from "../ui/toasts";
import type { components } from "../wire/api.gen";
import { api, given } from "../wire/client";

type Verified = components["schemas"]["AuditVerified"];

export function About() {
  const { data } = useQuery({ queryKey: ["about"], queryFn: () => given(api.GET("/about")), staleTime: Infinity });
  const facts = [
    [t.version, data?.version],
    [t.python, data?.python],
    [t.licence, data?.licence],
  ] as const;
  return (
    <dl className="divide-y divide-line rounded-2xl border border-line bg-surface">
      {facts.map(([name, value]) => (
        <div key={name} className="flex items-baseline gap-3 px-4 py-2.5 text-sm">
          <dt className="min-w-0 flex-1">{name}</dt>
          <dd className="text-right tabular-nums">{value ?? "…"}</dd>
        </div>
      ))}
      <div className="px-4 py-2.5 text-sm">
        <dt>{t.dataFolder}</dt>
        <dd className="mt-0.5 flex items-center gap-1">
          <code className="min-w-0 flex-1 font-mono text-[13px] break-all text-ink-2">{data?.data_dir ?? "…"}</code>
          {data && <Copy text={data.data_dir} label={t.copyTheFolder} className="-my-2 -mr-2" />}
        </dd>
      </div>
    </dl>
  );
}

/** Reads every record when the person asks for it. */
export function AuditCheck() {
  const [busy, setBusy] = useState(false);
  const [found, setFound] = useState<Verified | null>(null);
  const check = async () => {
    setBusy(true);
    setFound(null);
    await attempt(given(api.POST("/audit/verify")).then(setFound));
    setBusy(false);
  };
  return (
    <div className="space-y-3">
      <Button icon={<ShieldCheck size={15} aria-hidden />} disabled={busy} onClick={() => void check()}>
        {busy ? t.checkingTheChain : t.checkTheChain}
      </Button>
      <div role="status" className="text-sm">
        {found && found.broken.length === 0 && <p className="text-good">{t.chainHolds(found.chains)}</p>}
        {found?.broken.map(({ what, seq, reason }) => (
          <p key={what} className="break-words text-bad">
            {t.chainBroken(what, seq, reason ?? "")}
          </p>
        ))}
      </div>
    </div>
  );
}
