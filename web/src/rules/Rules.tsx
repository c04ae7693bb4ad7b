// Standing answers: what is always allowed, asked or denied, and how to take it back.

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Plus, Trash2 } from "lucide-react";
import { useState } from "react";
import { visible } from "../content/visible";
import { useToolDisplay } from "../state/tools";
import { dayAndTime } from "../texts/language";
import { t } from "../texts/rules";
import { Button, IconButton } from "../ui/Button";
import { Outcomes } from "../ui/Outcomes";
import { attempt } from "../ui/outcomes";
import type { components } from "../wire/api.gen";
import { api, given } from "../wire/client";
import { EffectMark } from "./EffectMark";
import { Explain } from "./Explain";
import { RuleForm } from "./RuleForm";
import { ruleWords } from "./words";

type Rule = components["schemas"]["RuleResponse"];
type Proposal = components["schemas"]["RuleProposal"];

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
      <Proposals onAdded={again} />
      <Explain />
    </div>
  );
}

/** Rules that would have answered past decisions, each with the calls it would have decided. */
function Proposals({ onAdded }: { onAdded: () => Promise<void> }) {
  const queries = useQueryClient();
  const { data: proposals = [] } = useQuery({
    queryKey: ["rules", "proposals"],
    queryFn: async () => (await given(api.GET("/rules/proposals"))).proposals,
  });
  if (proposals.length === 0) return null;
  const add = async (rule: Proposal["rule"]) => {
    await attempt(given(api.POST("/rules", { body: rule })));
    await queries.invalidateQueries({ queryKey: ["rules", "proposals"] });
    await onAdded();
  };
  return (
    <section aria-label={t.proposedRules} className="space-y-2">
      <h3 className="text-sm font-medium">{t.proposedRules}</h3>
      <p className="text-sm text-ink-2">{t.proposedFrom}</p>
      <ul className="divide-y divide-line rounded-2xl border border-line bg-surface">
        {proposals.map((proposal) => (
          <ProposalLine
            key={`${proposal.rule.workspace} ${proposal.rule.tool} ${proposal.rule.resource}`}
            proposal={proposal}
            onAdd={() => void add(proposal.rule)}
          />
        ))}
      </ul>
    </section>
  );
}

export function ProposalLine({ proposal, onAdd }: { proposal: Proposal; onAdd: () => void }) {
  const { rule, decided, calls } = proposal;
  const words = ruleWords(rule, useToolDisplay(rule.tool).kind);
  return (
    <li className="flex flex-wrap items-start gap-3 px-4 py-2.5 text-sm">
      <details className="min-w-0 flex-1">
        <summary className="cursor-pointer">
          <span className="break-words">{words}</span>
          <span className="block truncate text-xs text-ink-3" title={rule.workspace}>
            {t.wouldHaveAnswered(decided)} · {rule.workspace}
          </span>
        </summary>
        <ul className="mt-1.5 space-y-0.5">
          {calls.map((call) => (
            <li key={call.id} className="font-mono text-[12.5px] break-all">
              {visible(`${call.tool} ${call.resource.replace(/^command:/, "")}`)}
            </li>
          ))}
        </ul>
      </details>
      <IconButton label={t.addThisRule(words)} onClick={onAdd}>
        <Plus size={15} aria-hidden />
      </IconButton>
      <Outcomes className="basis-full" />
    </li>
  );
}

const PLACES = { session: t.inOneChat, workspace: t.inOneFolder, global: t.everywhere } as const;

function RuleLine({ rule, onRemove }: { rule: Rule; onRemove: () => void }) {
  const words = ruleWords(rule, useToolDisplay(rule.tool).kind);
  return (
    <li className="flex flex-wrap items-center gap-3 px-4 py-2.5 text-sm">
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
      <Outcomes className="basis-full" />
    </li>
  );
}
