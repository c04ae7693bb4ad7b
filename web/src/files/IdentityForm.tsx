// Who commits in this repository, asked for once where git does not know it.

import { useState } from "react";
import { t } from "../texts/git";
import { Button } from "../ui/Button";
import { Field, INPUT } from "../ui/Field";
import { useRefusal } from "../ui/refusal";
import { useReadAgain } from "./acts";
import { type GitState, setIdentity } from "./gitActs";

export function IdentityForm({ chatId, identity }: { chatId: string; identity: GitState["identity"] }) {
  const [name, setName] = useState(identity.name);
  const [email, setEmail] = useState(identity.email);
  const readAgain = useReadAgain();
  const [attempt, refusal] = useRefusal();
  return (
    <form
      aria-label={t.whoCommits}
      className="space-y-2 rounded-lg border border-line p-3"
      onSubmit={(event) => {
        event.preventDefault();
        void attempt(setIdentity(chatId, name.trim(), email.trim())).then((done) => done && readAgain());
      }}
    >
      <p className="text-sm text-ink-2">{t.nameUnknown}</p>
      <Field label={t.yourName}>
        <input
          required
          autoComplete="name"
          value={name}
          onChange={({ target }) => setName(target.value)}
          className={INPUT}
        />
      </Field>
      <Field label={t.yourEmail}>
        <input
          required
          type="email"
          autoComplete="email"
          value={email}
          onChange={({ target }) => setEmail(target.value)}
          className={INPUT}
        />
      </Field>
      {refusal}
      <Button needs="PUT /context/{chat_id}/git/identity" type="submit" disabled={!name.trim() || !email.trim()}>
        {t.saveName}
      </Button>
    </form>
  );
}
