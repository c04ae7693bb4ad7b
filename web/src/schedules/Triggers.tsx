// The triggers: what each starts, how its last run ended, and its secret, which is shown once.

import { KeyRound, Webhook } from "lucide-react";
import { useState } from "react";
import { t } from "../texts/schedules";
import { Button, IconButton } from "../ui/Button";
import { attempt } from "../ui/outcomes";
import { ShownOnce } from "../ui/ShownOnce";
import { api, given } from "../wire/client";
import { Editing, Listed, useAgain } from "./StartList";
import { StartRow } from "./StartRow";
import { TRIGGERS, type Trigger, useTriggers } from "./startables";

const CHANGE = "PATCH /triggers/{trigger_id}";
const REMOVE = "DELETE /triggers/{trigger_id}";

export function Triggers() {
  const { data: triggers } = useTriggers();
  const [edited, setEdited] = useState<Trigger | "new" | null>(null);
  const [secret, setSecret] = useState<{ id: string; secret: string } | null>(null);
  const again = useAgain(TRIGGERS);
  const at = ({ id }: { id: string }) => ({ params: { path: { trigger_id: id } } });
  const change = (item: Trigger, body: object) =>
    again(given(api.PATCH("/triggers/{trigger_id}", { ...at(item), body: body as never })));
  const add = async (body: object) => setSecret(await again(given(api.POST("/triggers", { body: body as never }))));
  const replace = async ({ id }: Trigger) => {
    const answer = await again(given(api.POST("/triggers/{trigger_id}/secret", at({ id }))));
    setSecret({ id, ...answer });
  };
  const save = (body: object) => (edited === "new" || edited === null ? add(body) : change(edited, body));
  return (
    <div className="space-y-3">
      {secret && (
        <ShownOnce
          secret={secret.secret}
          label={t.secret}
          copyLabel={t.copySecret}
          doneLabel={t.done}
          onDone={() => setSecret(null)}
        >
          {t.secretHint} <code className="break-all">{`${window.location.origin}/triggers/${secret.id}`}</code>
        </ShownOnce>
      )}
      <Listed items={triggers} label={t.triggers} none={t.noTriggers}>
        {(item) => (
          <StartRow
            key={item.id}
            item={item}
            when={t.onRequest}
            changing={CHANGE}
            removing={REMOVE}
            onEnable={(enabled) => void attempt(change(item, { enabled }))}
            onEdit={() => setEdited(item)}
            onRemove={() => void attempt(again(given(api.DELETE("/triggers/{trigger_id}", at(item)))))}
          >
            <IconButton
              needs="POST /triggers/{trigger_id}/secret"
              label={t.newSecret(item.name)}
              onClick={() => void attempt(replace(item))}
            >
              <KeyRound size={15} aria-hidden />
            </IconButton>
          </StartRow>
        )}
      </Listed>
      <Button needs="POST /triggers" icon={<Webhook size={15} aria-hidden />} onClick={() => setEdited("new")}>
        {t.addTrigger}
      </Button>
      <Editing edited={edited} trigger onSave={save} onDone={() => setEdited(null)} />
    </div>
  );
}
