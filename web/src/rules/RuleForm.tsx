import { type ReactNode, useState } from "react";
import type { components } from "../wire/api.gen";
import { api, given, once } from "../wire/client";
import { useWorkspaces } from "../state/queries";
import { Button } from "../ui/Button";
import { attempt, say } from "../ui/toasts";

type Wish = components["schemas"]["RuleWish"];

/** A rule is tried on past calls before it is written. */
export function RuleForm({ onAdded, onCancel }: { onAdded: () => void; onCancel: () => void }) {
  const { data: workspaces = [] } = useWorkspaces();
  const [tool, setTool] = useState("update_file");
  const [resource, setResource] = useState("");
  const [effect, setEffect] = useState<Wish["effect"]>("ask");
  const [workspace, setWorkspace] = useState("");
  const [foreseen, setForeseen] = useState<string | null>(null);
  const wish = (): Wish => ({ tool: tool.trim(), resource: resource.trim(), effect, ...(workspace ? { scope: "workspace", workspace } : { scope: "global" }) });
  const preview = () =>
    attempt(
      given(api.POST("/rules/preview", { params: { header: once() }, body: { rule: wish() } as never })).then(({ matched, looked_at, warnings }) =>
        setForeseen([`It would have decided ${matched} of the last ${looked_at} calls.`, ...warnings].join(" ")),
      ),
    );
  const add = () =>
    attempt(
      given(api.POST("/rules", { params: { header: once() }, body: wish() as never })).then(({ warnings }) => {
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
        <Field label="Effect">
          <select value={effect} onChange={({ target }) => setEffect(target.value as Wish["effect"])} className={INPUT}>
            <option value="allow">allow</option>
            <option value="ask">ask</option>
            <option value="deny">deny</option>
          </select>
        </Field>
        <Field label="Where">
          <select value={workspace} onChange={({ target }) => setWorkspace(target.value)} className={INPUT}>
            <option value="">everywhere</option>
            {workspaces.map(({ root }) => (
              <option key={root}>{root}</option>
            ))}
          </select>
        </Field>
        <Field label="Tool">
          <input required value={tool} onChange={({ target }) => setTool(target.value)} className={INPUT} />
        </Field>
        <Field label="File pattern or command">
          <input required placeholder="/notes/*" value={resource} onChange={({ target }) => setResource(target.value)} className={INPUT} />
        </Field>
      </div>
      {foreseen && (
        <p role="status" className="text-sm text-ink-2">
          {foreseen}
        </p>
      )}
      <div className="flex flex-wrap gap-2">
        <Button look="primary" type="submit" disabled={!resource.trim()}>
          Add
        </Button>
        <Button disabled={!resource.trim()} onClick={() => void preview()}>
          Try on past calls
        </Button>
        <Button look="quiet" onClick={onCancel}>
          Cancel
        </Button>
      </div>
    </form>
  );
}

const INPUT = "mt-1 min-h-9 w-full rounded-lg border border-line-strong bg-paper px-3 font-mono text-sm placeholder:text-ink-3";

function Field({ label, children }: { label: string; children: ReactNode }) {
  return (
    <label className="block text-sm font-medium">
      {label}
      {children}
    </label>
  );
}
