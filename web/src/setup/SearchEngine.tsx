// The search engine of `search_web`: which one, where, and its key, which goes to the server once and is never shown again.

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { t } from "../texts/settings";
import { Button } from "../ui/Button";
import { Field, INPUT } from "../ui/Field";
import { Form, TextField } from "../ui/Form";
import { say } from "../ui/outcomes";
import { useRefusal } from "../ui/refusal";
import { api, given } from "../wire/client";
import { addressIn, KeyField } from "./ProviderFields";

const ENGINE = ["search-engine"];
const KINDS = ["searxng", "brave", "tavily"] as const;
const { searchEngine: words } = t;

export function SearchEngine() {
  const queries = useQueryClient();
  const { data: engine } = useQuery({ queryKey: ENGINE, queryFn: () => given(api.GET("/search_engine")) });
  const [kind, setKind] = useState<(typeof KINDS)[number]>("searxng");
  const [address, setAddress] = useState("");
  const [key, setKey] = useState("");
  const [attempt, refusal] = useRefusal();
  const again = () => queries.invalidateQueries({ queryKey: ENGINE });
  const save = async () => {
    const body = {
      kind,
      ...(address.trim() ? { base_url: addressIn(address) } : {}),
      ...(key.trim() ? { api_key: key.trim() } : {}),
    };
    if (!(await attempt(given(api.PUT("/search_engine", { body }))))) return;
    setKey("");
    say(words.saved);
    await again();
  };
  const remove = async () => {
    if (await attempt(given(api.DELETE("/search_engine")))) say(words.removed);
    await again();
  };
  return (
    <div className="space-y-3">
      <p className="text-sm text-ink-2">
        {engine?.kind
          ? `${words.uses(words.kinds[engine.kind] ?? engine.kind, engine.base_url ?? "")} ${engine.key_set ? words.keySet : words.keyMissing}`
          : words.none}
      </p>
      <Form label={t.sections.web.title} onSubmit={() => void save()}>
        <Field label={words.kind}>
          <select
            value={kind}
            onChange={({ target }) => setKind(KINDS.find((each) => each === target.value) ?? "searxng")}
            className={INPUT}
          >
            {KINDS.map((each) => (
              <option key={each} value={each}>
                {words.kinds[each]}
              </option>
            ))}
          </select>
        </Field>
        <TextField
          label={words.address}
          hint={words.addressHint}
          required={kind === "searxng"}
          value={address}
          onChange={setAddress}
        />
        <KeyField label={words.key} hint={words.keyHint} value={key} onChange={setKey} />
        {refusal}
        <div className="flex flex-wrap gap-2 pt-1">
          <Button look="primary" type="submit">
            {words.save}
          </Button>
          {engine?.kind && (
            <Button look="quiet" onClick={() => void remove()}>
              {words.remove}
            </Button>
          )}
        </div>
      </Form>
    </div>
  );
}
