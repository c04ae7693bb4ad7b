// Standing answers: what is always allowed, asked or denied, and how to take it back.

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Plus, Trash2 } from "lucide-react";
import { useState } from "react";
import { useToolDisplay } from "../state/tools";
import { dayAndTime } from "../texts/language";
import { t } from "../texts/rules";
import { Button, IconButton } from "../ui/Button";
import { attempt } from "../ui/toasts";
import type { components } from "../wire/api.gen";
import { api, given } from "../wire/client";
import { EffectMark } from "./EffectMark";
import { Explain } from "./Explain";
import { RuleForm } from "./RuleForm";
import { ruleWords } from "./words";

type Rule = components["schemas"]["RuleResponse"];

export function Rules() {
  const queries = useQueryClient();
  const { data: rules = [] } = useQuery({
    queryKey: ["rules"],
    queryFn: async () => (await given(api.GET("/rules"))).rules,
  });
  const [adding, setAdding] = useState(false);
  const again = () => queries.invalidateQueries({ queryKey: ["rules"] });
  const remove = async (id: string) => {
    await attempt(given(api.DELETE("/rules/{rule_id}", { params: { path: { rule_id: id } } })));
    await again();
  };
  return (
    <div className="space-y-3">
      {rules.length === 0 && !adding && (
        <p className="rounded-2xl border border-dashed border-line-strong px-4 py-3 text-sm text-ink-2">
          {t.noRulesYetReadingPasses}
        </p>
      )}
      {rules.length > 0 && (
        <ul className="divide-y divide-line rounded-2xl border border-line bg-surface">
          {rules.map((rule) => (
            <RuleLine key={rule.id} rule={rule} onRemove={() => void remove(rule.id)} />
          ))}
        </ul>
      )}
      {adding ? (
        <RuleForm
          onCancel={() => setAdding(false)}
          onAdded={() => {
            setAdding(false);
            void again();
          }}
        />
      ) : (
        <Button icon={<Plus size={15} aria-hidden />} onClick={() => setAdding(true)}>
          {t.addARule}
        </Button>
      )}
      <Explain />
    </div>
  );
}

const PLACES = { session: t.inOneChat, workspace: t.inOneFolder, global: t.everywhere } as const;

function RuleLine({ rule, onRemove }: { rule: Rule; onRemove: () => void }) {
  const words = ruleWords(rule, useToolDisplay(rule.tool).kind);
  return (
    <li className="flex items-center gap-3 px-4 py-2.5 text-sm">
      <EffectMark effect={rule.effect} />
      <span className="min-w-0 flex-1">
        <span className="break-words" title={`${rule.tool} ${rule.resource}`}>
          {words}
        </span>
        <span className="block truncate text-xs text-ink-3" title={rule.workspace ?? undefined}>
          {PLACES[rule.scope]}
          {rule.workspace && rule.scope === "workspace" ? `: ${rule.workspace}` : ""}
          {rule.expires_at ? t.until(dayAndTime(new Date(rule.expires_at))) : ""}
        </span>
      </span>
      <IconButton label={t.revoke(words)} onClick={onRemove} className="hover:!text-bad">
        <Trash2 size={15} aria-hidden />
      </IconButton>
    </li>
  );
}
