// What a person asks to remember: a line of the folder's instruction file, saved only after its change was seen.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useDeferredValue, useState } from "react";
import { DiffView } from "../content/DiffView";
import { t } from "../texts/composer";
import { Button } from "../ui/Button";
import { Dialog, wantsFocus } from "../ui/Dialog";
import { Field, INPUT } from "../ui/Field";
import { Form } from "../ui/Form";
import { say } from "../ui/outcomes";
import { useRefusal } from "../ui/refusal";
import { api, given } from "../wire/client";

interface Props {
  chatId: string;
  note: string;
  onClose: () => void;
}

export default function RememberDialog({ chatId, note, onClose }: Props) {
  const [typed, setTyped] = useState(note);
  const text = useDeferredValue(typed.trim());
  const queries = useQueryClient();
  const params = { path: { chat_id: chatId } };
  const { data: change } = useQuery({
    queryKey: ["memory", chatId, text],
    queryFn: () => given(api.POST("/context/{chat_id}/memory", { params, body: { text } })),
    enabled: text !== "",
    staleTime: 0,
    gcTime: 0,
  });
  const [attempt, refusal] = useRefusal();
  const save = async () => {
    if (!change) return;
    const body = { text, sha256: change.sha256 };
    if (!(await attempt(given(api.PUT("/context/{chat_id}/memory", { params, body }))))) {
      await queries.invalidateQueries({ queryKey: ["memory", chatId] }); // the file may be another one now
      return;
    }
    say(t.remembered(change.path));
    onClose();
  };
  return (
    <Dialog title={t.rememberTitle} open onClose={onClose} wide>
      <Form label={t.rememberTitle} className="space-y-3" onSubmit={() => void save()}>
        <p className="text-sm text-ink-2">{t.rememberAbout}</p>
        <Field label={t.rememberNote}>
          <textarea
            ref={wantsFocus}
            rows={2}
            maxLength={2000}
            value={typed}
            onChange={({ target }) => setTyped(target.value)}
            className={`${INPUT} py-2`}
          />
        </Field>
        {change && text && change.diff && <DiffView text={change.diff} label={t.rememberChange} whole />}
        {change && text && !change.diff && <p className="text-sm text-ink-2">{t.rememberedAlready(change.path)}</p>}
        {refusal}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>{t.rememberCancel}</Button>
          <Button
            needs="PUT /context/{chat_id}/memory"
            look="primary"
            type="submit"
            disabled={!change?.diff || text !== typed.trim() || !text}
          >
            {t.rememberSave}
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}
