import { useDeferredValue, useState } from "react";
import { useWorkspaces } from "../state/queries";
import { useToolDisplay } from "../state/tools";
import { t } from "../texts/rules";
import { Button } from "../ui/Button";
import { Field, INPUT, VERBATIM } from "../ui/Field";
import { Form, FormButtons, TextField } from "../ui/Form";
import { say } from "../ui/outcomes";
import { useRefusal } from "../ui/refusal";
import type { components } from "../wire/api.gen";
import { api, given } from "../wire/client";
import { Foreseen, type Preview } from "./Foreseen";
import { ruleWords, typedArguments } from "./words";

type Wish = components["schemas"]["NewRule"];

/** A rule is tried on past calls before it is written. */
export function RuleForm({ onAdded, onCancel }: { onAdded: () => void; onCancel: () => void }) {
  const { data: workspaces = [] } = useWorkspaces();
  const [tool, setTool] = useState("");
  const [resource, setResource] = useState("");
  const [typed, setTyped] = useState("");
  const [effect, setEffect] = useState<Wish["effect"]>("ask");
  const [workspace, setWorkspace] = useState("");
  const [foreseen, setForeseen] = useState<Preview | null>(null);
  const { kind } = useToolDisplay(useDeferredValue(tool.trim()));
  const isServed = resource.trim().startsWith("mcp:");
  const fixed = isServed ? typedArguments(typed) : null;
  const wish = (): Wish => ({
    tool: tool.trim(),
    resource: resource.trim(),
    effect,
    ...(fixed ? { arguments: fixed } : {}),
    ...(workspace ? { scope: "workspace", workspace } : { scope: "global" }),
  });
  const [attempt, refusal, faultAt] = useRefusal({ tool: "tool", resource: "resource", arguments: "arguments" });
  const preview = () =>
    attempt(given(api.POST("/rules/preview", { body: { rule: wish() } as never })).then(setForeseen));
  const add = () =>
    attempt(
      given(api.POST("/rules", { body: wish() as never })).then(({ warnings }) => {
        warnings.forEach((warning) => say(warning, "problem"));
        onAdded();
      }),
    );
  return (
    <Form onSubmit={() => void add()}>
      <div className="grid gap-3 sm:grid-cols-2">
        <Field label={t.effect}>
          <select
            value={effect}
            onChange={({ target }) => {
              setEffect(target.value as Wish["effect"]);
              setForeseen(null);
            }}
            className={INPUT}
          >
            <option value="allow">{t.effects.allow}</option>
            <option value="ask">{t.effects.ask}</option>
            <option value="deny">{t.effects.deny}</option>
          </select>
        </Field>
        <Field label={t.where}>
          <select value={workspace} onChange={({ target }) => setWorkspace(target.value)} className={INPUT}>
            <option value="">{t.everywhere}</option>
            {workspaces.map(({ root }) => (
              <option key={root}>{root}</option>
            ))}
          </select>
        </Field>
        <TextField
          label={t.tool}
          required
          placeholder={t.toolHint}
          fault={faultAt("tool")}
          value={tool}
          onChange={setTool}
        />
        <TextField
          label={t.filePatternOrCommand}
          required
          placeholder={servedPattern(tool.trim()) ?? "/notes/*"}
          fault={faultAt("resource")}
          value={resource}
          onChange={setResource}
        />
      </div>
      {isServed && (
        <Field label={t.argumentsOfTheCall} hint={t.argumentsHint} fault={faultAt("arguments")}>
          <textarea
            value={typed}
            onChange={({ target }) => setTyped(target.value)}
            rows={3}
            maxLength={20_000}
            placeholder={t.argumentsExample}
            {...VERBATIM}
            className={`${INPUT} py-1.5 font-mono`}
          />
        </Field>
      )}
      {tool.trim() && resource.trim() && (
        <p className="text-sm break-words text-ink-2">{t.theRule(ruleWords(wish(), kind))}</p>
      )}
      {foreseen && <Foreseen preview={foreseen} />}
      {refusal}
      <FormButtons submit={t.add} disabled={!resource.trim()} cancel={t.cancel} onCancel={onCancel}>
        <Button disabled={!resource.trim()} onClick={() => void preview()}>
          {t.tryOnPastCalls}
        </Button>
      </FormButtons>
    </Form>
  );
}

/** How a rule names a tool of a server, in each of its versions; null for every other tool. */
function servedPattern(tool: string): string | null {
  const [server, ...name] = tool.split("__");
  return server && name.length > 0 ? `mcp:${server}/${name.join("__")}#*` : null;
}
