import { useState } from "react";
import { useWorkspaces } from "../state/queries";
import { t } from "../texts/rules";
import { Button } from "../ui/Button";
import { Field, INPUT } from "../ui/Field";
import { attempt, say } from "../ui/toasts";
import type { components } from "../wire/api.gen";
import { api, given } from "../wire/client";
import { Foreseen, type Preview } from "./Foreseen";

type Wish = components["schemas"]["NewRule"];

/** A rule is tried on past calls before it is written. */
export function RuleForm({ onAdded, onCancel }: { onAdded: () => void; onCancel: () => void }) {
  const { data: workspaces = [] } = useWorkspaces();
  const [tool, setTool] = useState("");
  const [resource, setResource] = useState("");
  const [effect, setEffect] = useState<Wish["effect"]>("ask");
  const [workspace, setWorkspace] = useState("");
  const [foreseen, setForeseen] = useState<Preview | null>(null);
  const wish = (): Wish => ({
    tool: tool.trim(),
    resource: resource.trim(),
    effect,
    ...(workspace ? { scope: "workspace", workspace } : { scope: "global" }),
  });
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
    <form
      className="space-y-3 rounded-2xl border border-line bg-surface p-4"
      onSubmit={(event) => {
        event.preventDefault();
        void add();
      }}
    >
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
        <Field label={t.tool}>
          <input
            required
            placeholder={t.toolHint}
            value={tool}
            onChange={({ target }) => setTool(target.value)}
            className={`${INPUT} font-mono`}
          />
        </Field>
        <Field label={t.filePatternOrCommand}>
          <input
            required
            placeholder="/notes/*"
            value={resource}
            onChange={({ target }) => setResource(target.value)}
            className={`${INPUT} font-mono`}
          />
        </Field>
      </div>
      {foreseen && <Foreseen preview={foreseen} />}
      <div className="flex flex-wrap gap-2">
        <Button look="primary" type="submit" disabled={!resource.trim()}>
          {t.add}
        </Button>
        <Button disabled={!resource.trim()} onClick={() => void preview()}>
          {t.tryOnPastCalls}
        </Button>
        <Button look="quiet" onClick={onCancel}>
          {t.cancel}
        </Button>
      </div>
    </form>
  );
}
