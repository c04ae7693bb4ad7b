// The agents that jobs use, besides the built-in ones. They are one setting of the server, so each change sends the whole list.

import { useQueryClient } from "@tanstack/react-query";
import { Bot, Pencil, Plus, Trash2 } from "lucide-react";
import { useState } from "react";
import { choicesOf } from "../models/choices";
import { lookOf } from "../roles/theme";
import * as acts from "../state/acts";
import { useProviders, useRoles, useSettings } from "../state/queries";
import { t as texts } from "../texts/settings";
import { Button, IconButton } from "../ui/Button";
import { Field, INPUT } from "../ui/Field";
import { Form, FormButtons, TextField } from "../ui/Form";
import { Outcomes } from "../ui/Outcomes";
import { attempt, say } from "../ui/outcomes";
import { RefusalNote, useRefusal } from "../ui/refusal";
import { loose, text } from "../wire/nouns";

const { agents: t } = texts;

interface Agent {
  name: string;
  role: string;
  model: string;
  prompt: string;
  /** Of another vendor: not edited here. */
  isProgram: boolean;
}

type AgentSettings = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

const NEW: Agent = { name: "", role: "actor", model: "", prompt: "", isProgram: false };

export function Agents() {
  const { data: settings } = useSettings();
  const queries = useQueryClient();
  const [edited, setEdited] = useState<Agent | null>(null);
  if (!settings) return null;
  const stored = loose(settings["agents"]) as AgentSettings;
  const agents = Object.entries(stored).map(([name, entry]) => agentOf(name, entry));
  const write = async (changed: AgentSettings) => {
    await acts.changeSettings({ agents: changed });
    await Promise.all(["settings", "agents"].map((key) => queries.invalidateQueries({ queryKey: [key] })));
  };
  const save = async ({ name, role, model, prompt }: Agent) => {
    await write({ ...stored, [name]: { ...stored[name], role, model: model || null, prompt } });
    say(t.saved(name));
    setEdited(null);
  };
  const remove = async ({ name }: Agent) => {
    const { [name]: removed, ...others } = stored;
    if (!removed || !(await attempt(write(others)))) return;
    say(t.removed(name), "info", { label: t.undo, run: () => void attempt(write({ ...others, [name]: removed })) });
  };
  return (
    <div className="space-y-3">
      {agents.length === 0 ? (
        <p className="text-sm text-ink-3">{t.none}</p>
      ) : (
        <AgentList agents={agents} onEdit={setEdited} onRemove={(agent) => void remove(agent)} />
      )}
      {edited ? (
        <AgentForm
          key={edited.name}
          initial={edited}
          taken={agents.map(({ name }) => name)}
          onSave={save}
          onCancel={() => setEdited(null)}
        />
      ) : (
        <Button icon={<Plus size={15} aria-hidden />} onClick={() => setEdited(NEW)}>
          {t.add}
        </Button>
      )}
    </div>
  );
}

interface ListProps {
  agents: readonly Agent[];
  onEdit: (agent: Agent) => void;
  onRemove: (agent: Agent) => void;
}

function AgentList({ agents, onEdit, onRemove }: ListProps) {
  const roles = useRoles();
  return (
    <ul className="divide-y divide-line rounded-2xl border border-line bg-surface">
      {agents.map((agent) => (
        <li key={agent.name} className="flex flex-wrap items-center gap-3 px-4 py-2 text-sm">
          <Bot size={15} aria-hidden className="shrink-0 text-ink-3" />
          <span className="min-w-0 flex-1">
            <span className="block truncate font-medium">{agent.name}</span>
            <span className="block truncate text-ink-3">
              {agent.isProgram ? t.aProgram : `${lookOf(roles, agent.role).title} · ${agent.model || t.chatModel}`}
            </span>
          </span>
          {!agent.isProgram && (
            <IconButton label={t.edit(agent.name)} onClick={() => onEdit(agent)}>
              <Pencil size={15} aria-hidden />
            </IconButton>
          )}
          <IconButton label={t.remove(agent.name)} onClick={() => onRemove(agent)} className="hover:!text-bad">
            <Trash2 size={15} aria-hidden />
          </IconButton>
          <Outcomes className="basis-full" />
        </li>
      ))}
    </ul>
  );
}

interface FormProps {
  initial: Agent;
  taken: readonly string[];
  onSave: (agent: Agent) => Promise<void>;
  onCancel: () => void;
}

function AgentForm({ initial, taken, onSave, onCancel }: FormProps) {
  const [agent, setAgent] = useState(initial);
  const [attemptHere, refusal] = useRefusal();
  const roles = useRoles();
  const models = choicesOf(useProviders().data ?? [], {}).map(({ id }) => id);
  const isNew = initial.name === "";
  const isTaken = isNew && taken.includes(agent.name.trim());
  const set = (change: Partial<Agent>) => setAgent((now) => ({ ...now, ...change }));
  return (
    <Form
      label={isNew ? t.add : t.edit(initial.name)}
      onSubmit={() => void attemptHere(onSave({ ...agent, name: agent.name.trim(), model: agent.model.trim() }))}
    >
      <div className="grid gap-3 sm:grid-cols-2">
        <div>
          <TextField
            label={t.name}
            hint={t.nameHint}
            required
            autoFocus={isNew}
            readOnly={!isNew}
            maxLength={64}
            aria-invalid={isTaken}
            value={agent.name}
            onChange={(name) => set({ name })}
          />
          {isTaken && <RefusalNote words={t.nameTaken} />}
        </div>
        <Field label={t.role}>
          <select value={agent.role} onChange={({ target }) => set({ role: target.value })} className={INPUT}>
            {roles.map(({ name }) => (
              <option key={name} value={name}>
                {lookOf(roles, name).title}
              </option>
            ))}
          </select>
        </Field>
        <TextField
          label={t.model}
          placeholder={t.chatModel}
          list="agent-models"
          value={agent.model}
          onChange={(model) => set({ model })}
        />
        <datalist id="agent-models">
          {models.map((id) => (
            <option key={id} value={id} />
          ))}
        </datalist>
      </div>
      <Field label={t.prompt} hint={t.promptHint}>
        <textarea
          rows={4}
          value={agent.prompt}
          onChange={({ target }) => set({ prompt: target.value })}
          className={`${INPUT} min-h-24 py-2`}
        />
      </Field>
      {refusal}
      <FormButtons submit={t.save} disabled={!agent.name.trim() || isTaken} cancel={t.cancel} onCancel={onCancel} />
    </Form>
  );
}

function agentOf(name: string, entry: Readonly<Record<string, unknown>>): Agent {
  const program = entry["command"];
  return {
    name,
    role: text(entry["role"]) || "actor",
    model: text(entry["model"]),
    prompt: text(entry["prompt"]),
    isProgram: Array.isArray(program) && program.length > 0,
  };
}
