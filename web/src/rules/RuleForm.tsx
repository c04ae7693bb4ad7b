import { useState } from "react";
import { useWorkspaces } from "../state/queries";
import { t } from "../texts/rules";
import { Button } from "../ui/Button";
import { Field, INPUT } from "../ui/Field";
import { Form, FormButtons, TextField } from "../ui/Form";
import { useRefusal } from "../ui/refusal";
import { say } from "../ui/toasts";
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
  const [attempt, refusal] = useRefusal();
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
        <TextField label={t.tool} required placeholder={t.toolHint} value={tool} onChange={setTool} />
        <TextField
          label={t.filePatternOrCommand}
          required
          placeholder="/notes/*"
          value={resource}
          onChange={setResource}
        />
      </div>
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
