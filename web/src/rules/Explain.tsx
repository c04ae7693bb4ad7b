// Which rule decides a call, and why, before anybody makes it. Nothing is run.

import { useQueryClient } from "@tanstack/react-query";
import { Scale } from "lucide-react";
import { useDeferredValue, useState } from "react";
import { visible } from "../content/visible";
import { useChats } from "../state/sidebar";
import { toolDisplay, useToolDisplay } from "../state/tools";
import { t } from "../texts/rules";
import { Button } from "../ui/Button";
import { Field, INPUT } from "../ui/Field";
import { Form, TextField } from "../ui/Form";
import { useRefusal } from "../ui/refusal";
import type { components } from "../wire/api.gen";
import { api, given } from "../wire/client";
import { EffectMark } from "./EffectMark";
import { subjectHint, supposedParameters } from "./supposed";
import { ruleWords } from "./words";

type Explained = components["schemas"]["ExplainedResponse"];

export function Explain() {
  const { waiting, others } = useChats("");
  const chats = [...waiting, ...others];
  const [tool, setTool] = useState("");
  const [subject, setSubject] = useState("");
  const [chosen, setChosen] = useState<string | null>(null);
  const [told, setTold] = useState<Explained | null>(null);
  const display = useToolDisplay(useDeferredValue(tool.trim()));
  const chatId = chosen ?? chats[0]?.id;
  const queries = useQueryClient();
  const explain = async () => {
    const known = await toolDisplay(queries, tool.trim()); // it may not have been read yet when Enter is pressed
    const call = { tool: tool.trim(), parameters: supposedParameters(known, subject), context_id: chatId };
    setTold(await given(api.POST("/rules/explain", { body: { call } as never })));
  };
  const [attempt, refusal] = useRefusal();
  const ask = () => {
    setTold(null);
    void attempt(explain());
  };
  if (!chatId) return <p className="text-sm text-ink-3">{t.aCallBelongsToA}</p>;
  return (
    <Form label={t.whichRuleDecides} onSubmit={ask}>
      <p className="flex items-center gap-2 text-sm font-medium">
        <Scale size={15} aria-hidden className="text-ink-3" /> {t.whichRuleDecides}
      </p>
      <div className="grid gap-3 sm:grid-cols-2">
        <TextField label={t.toolOfTheCall} required placeholder={t.toolHint} value={tool} onChange={setTool} />
        <TextField
          label={t.fileCommandOrParametersAs}
          required
          placeholder={subjectHint(display)}
          value={subject}
          onChange={setSubject}
        />
        <Field label={t.inTheChat}>
          <select value={chatId} onChange={({ target }) => setChosen(target.value)} className={INPUT}>
            {chats.map(({ id, title }) => (
              <option key={id} value={id}>
                {title}
              </option>
            ))}
          </select>
        </Field>
        <div className="flex items-end">
          <Button type="submit" disabled={!tool.trim() || !subject.trim()}>
            {t.explain}
          </Button>
        </div>
      </div>
      {refusal}
      {told && <Explanation told={told} />}
    </Form>
  );
}

/** The rest of a reason that says as well that there is no rule. Pure. */
function withoutNoRule(why: string): string {
  const rest = why.replace(/^No rule covers it, and /, "");
  return rest.charAt(0).toUpperCase() + rest.slice(1);
}

export function Explanation({ told }: { told: Explained }) {
  const { kind } = useToolDisplay(told.rule?.tool ?? "");
  return (
    <div role="status" className="flex items-start gap-3 rounded-xl bg-sunken/70 px-3.5 py-2.5 text-sm">
      <EffectMark effect={told.effect} />
      <div className="min-w-0">
        {told.rule ? (
          <>
            <p className="break-words">{t.theRule(ruleWords(told.rule, kind))}</p>
            <details className="mt-0.5 text-xs text-ink-3">
              <summary className="cursor-pointer thumb:py-2.5">{t.asItIsStored}</summary>
              <p lang="en" className="break-words">
                {told.why}
              </p>
              <code className="font-mono break-all">
                {visible(`${told.rule.effect} ${told.rule.tool} on ${told.rule.resource}`)}
              </code>
            </details>
          </>
        ) : (
          <>
            <p>{t.noRuleOfYoursSpoke}</p>
            <p lang="en" className="mt-0.5 text-xs break-words text-ink-3">
              {withoutNoRule(told.why)}
            </p>
          </>
        )}
      </div>
    </div>
  );
}
