// What takes room on the server's disk, and which part of it is bounded.
import { useQuery } from "@tanstack/react-query";
import { t } from "../texts/settings";
import { api, given } from "../wire/client";

export function Storage() {
  const { data, isError } = useQuery({
    queryKey: ["storage"],
    queryFn: async () => (await given(api.GET("/storage"))).storage,
    staleTime: 0,
    meta: { saysItself: true },
  });
  if (isError) return <p className="text-sm text-warn">{t.storageUnknown}</p>;
  if (!data) return <p className="late text-sm text-ink-3">{t.readingStorage}</p>;
  return (
    <dl className="divide-y divide-line rounded-2xl border border-line bg-surface">
      {data.map(({ name, bytes, most, setting }) => (
        <div key={name} className="flex flex-wrap items-baseline gap-x-3 px-4 py-2.5 text-sm">
          <dt className="min-w-0 flex-1 first-letter:uppercase">{t.storageNames[name] ?? name}</dt>
          <dd className="text-right tabular-nums">{bytes === null ? t.unknownSize : t.size(bytes)}</dd>
          {most !== null && (
            <dd className="basis-full text-xs text-ink-3" title={setting ?? undefined}>
              {t.atMost(most)}
            </dd>
          )}
        </div>
      ))}
    </dl>
  );
}
