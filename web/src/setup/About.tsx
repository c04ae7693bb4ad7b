// The server itself: its version, where it keeps everything, and whether its record is whole.
import { useQuery } from "@tanstack/react-query";
import { Download } from "lucide-react";
import { useState } from "react";
import { saveFile } from "../browser/saveFile";
import { dayAndTime } from "../texts/language";
import { t } from "../texts/settings";
import { Button } from "../ui/Button";
import { Copy } from "../ui/Copy";
import { attempt } from "../ui/outcomes";
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

/** Checks the records that no earlier check has read, or all of them; says which it did. */
export function AuditCheck() {
  const [busy, setBusy] = useState(false);
  const [saving, setSaving] = useState(false);
  const [found, setFound] = useState<Verified | null>(null);
  const { data: progress } = useQuery({
    queryKey: ["audit-check"],
    queryFn: () => given(api.GET("/audit/verify")),
    enabled: busy,
    refetchInterval: 1000,
  });
  const check = async (full: boolean) => {
    setBusy(true);
    setFound(null);
    await attempt(given(api.POST("/audit/verify", { params: { query: { full } } })).then(setFound));
    setBusy(false);
  };
  const save = async () => {
    setSaving(true);
    await attempt(given(api.GET("/audit/export", { parseAs: "blob" })).then((file) => saveFile(file, "audit.zip")));
    setSaving(false);
  };
  const holds = found && !found.stopped && found.broken.length === 0;
  return (
    <div className="space-y-3">
      <div className="flex flex-wrap gap-2">
        <Button disabled={busy} onClick={() => void check(false)}>
          {busy ? t.checkingTheChain : t.checkTheChain}
        </Button>
        <Button disabled={busy} onClick={() => void check(true)}>
          {t.readEveryRecord}
        </Button>
        <Button icon={<Download size={15} aria-hidden />} disabled={saving} onClick={() => void save()}>
          {saving ? t.makingAuditExport : t.auditExport}
        </Button>
        {busy && <Button onClick={() => void attempt(given(api.DELETE("/audit/verify")))}>{t.stopTheCheck}</Button>}
      </div>
      <div role="status" className="text-sm">
        {busy && progress?.running && (
          <p className="tabular-nums text-ink-2">
            {t.checkedSoFar(progress.records, progress.chats, progress.all_chats)}
          </p>
        )}
        {found?.stopped && <p>{t.checkStopped}</p>}
        {holds && <p className="text-good">{t.chainHolds(found.chains, found.checked)}</p>}
        {holds && !found.full && (
          <p className="text-ink-2">{t.readEarlier(found.earlier, dayAndTime(new Date(found.full_at ?? "")))}</p>
        )}
        {found?.broken.map(({ what, seq, reason }) => (
          <p key={what} className="break-words text-bad">
            {t.chainBroken(what, seq, reason ?? "")}
          </p>
        ))}
      </div>
    </div>
  );
}
