// Where this person is told that something waits: this browser, webhooks and e-mail. Each is tested from here.

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Bell, Send, Trash2 } from "lucide-react";
import { useState } from "react";
import { useMe } from "../state/me";
import { t } from "../texts/notifications";
import { Button, IconButton } from "../ui/Button";
import { Field, INPUT } from "../ui/Field";
import { Form, TextField } from "../ui/Form";
import { Outcomes } from "../ui/Outcomes";
import { attempt, say } from "../ui/outcomes";
import { useRefusal } from "../ui/refusal";
import { ShownOnce } from "../ui/ShownOnce";
import type { components } from "../wire/api.gen";
import { api, given } from "../wire/client";
import { ThisBrowser } from "./ThisBrowser";

type Target = components["schemas"]["TargetResponse"];

const TARGETS = ["notification-targets"];
const KINDS = ["webhook", "email"] as const;

export function Notifications() {
  const me = useMe();
  return me.may("decide") ? <OwnTargets /> : <p className="text-sm text-ink-2">{t.forDeciders}</p>;
}

function OwnTargets() {
  const queries = useQueryClient();
  const { data } = useQuery({ queryKey: TARGETS, queryFn: () => given(api.GET("/notifications/targets")) });
  const [secret, setSecret] = useState<string | null>(null);
  const again = () => queries.invalidateQueries({ queryKey: TARGETS });
  const add = async (body: object) => {
    const target = await given(api.POST("/notifications/targets", { body: body as never }));
    setSecret(target.secret ?? null);
    await again();
  };
  const remove = async ({ id }: Target) => {
    const params = { path: { target_id: id } };
    if (await attempt(given(api.DELETE("/notifications/targets/{target_id}", { params })))) say(t.removed);
    await again();
  };
  if (!data) return null;
  return (
    <div className="space-y-6">
      <ThisBrowser targets={data.targets} serverKey={data.push_key} onAdd={add} onRemove={remove} />
      {secret && (
        <ShownOnce
          secret={secret}
          label={t.theSecret}
          copyLabel={t.copySecret}
          doneLabel={t.done}
          onDone={() => setSecret(null)}
        >
          {t.secret}
        </ShownOnce>
      )}
      <TargetList targets={data.targets} onChanged={() => void again()} onRemove={(target) => void remove(target)} />
      <TargetForm onAdd={add} />
    </div>
  );
}

interface ListProps {
  targets: readonly Target[];
  onChanged: () => void;
  onRemove: (target: Target) => void;
}

export function TargetList({ targets, onChanged, onRemove }: ListProps) {
  if (targets.length === 0) return <p className="text-sm text-ink-3">{t.none}</p>;
  return (
    <ul aria-label={t.title} className="divide-y divide-line rounded-2xl border border-line bg-surface">
      {targets.map((target) => (
        <TargetRow key={target.id} target={target} onChanged={onChanged} onRemove={() => onRemove(target)} />
      ))}
    </ul>
  );
}

function TargetRow({ target, onChanged, onRemove }: { target: Target; onChanged: () => void; onRemove: () => void }) {
  const called = `${t.kinds[target.kind]} ${target.kind === "web_push" ? target.name : target.address}`;
  const test = async () => {
    const params = { path: { target_id: target.id } };
    const sent = given(api.POST("/notifications/targets/{target_id}/test", { params }));
    await attempt(sent.then(({ delivered, error }) => say(delivered ? t.tested : t.notTested(error ?? ""))));
    onChanged();
  };
  const problem = target.disabled ? t.disabled(target.disabled) : target.last_error && t.failed(target.last_error);
  return (
    <li className="flex flex-wrap items-center gap-3 px-4 py-2 text-sm">
      <Bell size={15} aria-hidden className="shrink-0 text-ink-3" />
      <span className="min-w-0 flex-1">
        <span className="block break-words">{called}</span>
        <span className="block text-xs text-ink-3">
          {target.last_sent_at ? t.last(new Date(target.last_sent_at)) : t.never}
        </span>
        {problem && <span className="block text-xs break-words text-warn">{problem}</span>}
      </span>
      <IconButton
        needs="POST /notifications/targets/{target_id}/test"
        label={t.testOf(called)}
        onClick={() => void test()}
      >
        <Send size={15} aria-hidden />
      </IconButton>
      <IconButton
        needs="DELETE /notifications/targets/{target_id}"
        label={t.remove(called)}
        onClick={onRemove}
        className="hover:!text-bad"
      >
        <Trash2 size={15} aria-hidden />
      </IconButton>
      <Outcomes className="basis-full" />
    </li>
  );
}

export function TargetForm({ onAdd }: { onAdd: (body: object) => Promise<void> }) {
  const [kind, setKind] = useState<(typeof KINDS)[number]>("webhook");
  const [address, setAddress] = useState("");
  const [attemptHere, refusal] = useRefusal();
  const add = async () => {
    const body = kind === "webhook" ? { kind, url: address.trim() } : { kind, address: address.trim() };
    if (await attemptHere(onAdd(body).then(() => true))) setAddress("");
  };
  return (
    <Form label={t.elsewhere} onSubmit={() => void add()}>
      <h3 className="text-sm font-medium">{t.elsewhere}</h3>
      <Field label={t.kind}>
        <select
          value={kind}
          onChange={({ target }) => setKind(KINDS.find((each) => each === target.value) ?? "webhook")}
          className={INPUT}
        >
          {KINDS.map((each) => (
            <option key={each} value={each}>
              {t.kinds[each]}
            </option>
          ))}
        </select>
      </Field>
      <TextField label={t.address} placeholder={t.addressOf[kind]} required value={address} onChange={setAddress} />
      {refusal}
      <Button needs="POST /notifications/targets" type="submit">
        {t.add}
      </Button>
    </Form>
  );
}
