// Client keys: for programs that use the passthrough under /v1. A key is shown once, when it is made; here only its name stays.

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { KeyRound, Trash2 } from "lucide-react";
import { useState } from "react";
import { t } from "../texts/settings";
import { Button, IconButton } from "../ui/Button";
import { Field, INPUT } from "../ui/Field";
import { Form } from "../ui/Form";
import { Outcomes } from "../ui/Outcomes";
import { attempt, say } from "../ui/outcomes";
import { useRefusal } from "../ui/refusal";
import { ShownOnce } from "../ui/ShownOnce";
import type { components } from "../wire/api.gen";
import { api, given } from "../wire/client";
import { KeyLimitFields, type KeyLimits, limitWords, readLimits } from "./KeyLimits";

type ClientKey = components["schemas"]["KeyResponse"];
export type NewKey = components["schemas"]["NewKey"];

const KEYS = ["keys"];

export function Keys() {
  const queries = useQueryClient();
  const { data: keys = [] } = useQuery({ queryKey: KEYS, queryFn: async () => (await given(api.GET("/keys"))).keys });
  const [made, setMade] = useState<NewKey | null>(null);
  const again = () => queries.invalidateQueries({ queryKey: KEYS });
  const make = async (name: string, limits: KeyLimits) => {
    setMade(await given(api.POST("/keys", { body: { name, limits } as never })));
    await again();
  };
  const revoke = async ({ id, name }: ClientKey) => {
    if (await attempt(given(api.DELETE("/keys/{key_id}", { params: { path: { key_id: id } } }))))
      say(t.theKeyOpensNothingAny(name));
    if (made?.id === id) setMade(null);
    await again();
  };
  return (
    <div className="space-y-3">
      {made && <Secret made={made} onDone={() => setMade(null)} />}
      {keys.length > 0 && (
        <ul className="divide-y divide-line rounded-2xl border border-line bg-surface">
          {keys.map((key) => (
            <li key={key.id} className="flex flex-wrap items-center gap-3 px-4 py-2 text-sm">
              <KeyRound size={15} aria-hidden className="shrink-0 text-ink-3" />
              <span className="min-w-0 flex-1">
                <span className="block truncate">{key.name}</span>
                <span className="block text-xs text-ink-3">
                  {t.sinceAndToday(new Date(key.created_at), key.today.requests)}
                  {limitWords(key.limits).map((words) => ` · ${words}`)}
                </span>
                {key.hint && <span className="block text-xs text-warn">{key.hint}</span>}
              </span>
              <IconButton label={t.revokeTheKey(key.name)} onClick={() => void revoke(key)} className="hover:!text-bad">
                <Trash2 size={15} aria-hidden />
              </IconButton>
              <Outcomes className="basis-full" />
            </li>
          ))}
        </ul>
      )}
      <KeyForm onMake={make} />
    </div>
  );
}

export function Secret({ made, onDone }: { made: NewKey; onDone: () => void }) {
  return (
    <ShownOnce secret={made.key} label={t.theNewKey} copyLabel={t.copyTheKey} doneLabel={t.iHaveIt} onDone={onDone}>
      {t.theKeyFor} <strong className="font-semibold">{made.name}</strong>
      {t.copyItNowItIs}
    </ShownOnce>
  );
}

export function KeyForm({ onMake }: { onMake: (name: string, limits: KeyLimits) => Promise<void> }) {
  const [name, setName] = useState("");
  const [typed, setTyped] = useState<Record<string, string>>({});
  const [attemptHere, refusal] = useRefusal();
  const limits = readLimits(typed);
  const make = async () => {
    if (!name.trim() || !limits || !(await attemptHere(onMake(name.trim(), limits)))) return;
    setName("");
    setTyped({});
  };
  return (
    <Form className="space-y-2" onSubmit={() => void make()}>
      <div className="flex items-end gap-2">
        <div className="min-w-0 flex-1">
          <Field label={t.whatTheKeyIsFor}>
            <input
              placeholder={t.exampleOfAKeysUse}
              maxLength={100}
              value={name}
              onChange={({ target }) => setName(target.value)}
              className={INPUT}
            />
          </Field>
        </div>
        <Button type="submit" icon={<KeyRound size={15} aria-hidden />} disabled={!name.trim() || !limits}>
          {t.makeAKey}
        </Button>
      </div>
      {refusal}
      <KeyLimitFields
        typed={typed}
        fits={limits !== null}
        onType={(limit, words) => setTyped({ ...typed, [limit]: words })}
      />
    </Form>
  );
}
