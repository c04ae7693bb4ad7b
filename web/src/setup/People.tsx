// The people of the server, for admins: who is here, what each may do. A token is shown once, when it is made.

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { KeyRound, Trash2, User, UserPlus } from "lucide-react";
import { useState } from "react";
import { type AccessLevel, ME } from "../state/me";
import { t } from "../texts/people";
import { Button, IconButton } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { INPUT } from "../ui/Field";
import { Form } from "../ui/Form";
import { Outcomes } from "../ui/Outcomes";
import { attempt, say } from "../ui/outcomes";
import { useRefusal } from "../ui/refusal";
import { ShownOnce } from "../ui/ShownOnce";
import type { components } from "../wire/api.gen";
import { api, given } from "../wire/client";
import { NewVisibility } from "./NewVisibility";
import { PeopleLog } from "./PeopleLog";

export type Person = components["schemas"]["PersonResponse"];
type WithToken = components["schemas"]["PersonWithToken"];

const PEOPLE = ["people"];
const CHANGES = ["people-changes"];
const LEVELS: readonly AccessLevel[] = ["admin", "member", "viewer"];

export function People() {
  const queries = useQueryClient();
  const { data: people = [] } = useQuery({
    queryKey: PEOPLE,
    queryFn: async () => (await given(api.GET("/people"))).people,
  });
  const { data: changes = [] } = useQuery({
    queryKey: CHANGES,
    queryFn: async () => (await given(api.GET("/people/changes"))).changes,
  });
  const [made, setMade] = useState<WithToken | null>(null);
  const again = () => Promise.all([PEOPLE, CHANGES, ME].map((queryKey) => queries.invalidateQueries({ queryKey })));
  const at = (id: string) => ({ params: { path: { person_id: id } } });
  const add = async (name: string, access: AccessLevel) => {
    setMade(await given(api.POST("/people", { body: { name, access } })));
    await again();
  };
  const change = async ({ id }: Person, access: AccessLevel) => {
    await attempt(given(api.PATCH("/people/{person_id}", { ...at(id), body: { access } })));
    await again();
  };
  const renew = async ({ id }: Person) => {
    await attempt(given(api.POST("/people/{person_id}/token", at(id))).then(setMade));
    await again();
  };
  const remove = async ({ id, name }: Person) => {
    if (await attempt(given(api.DELETE("/people/{person_id}", at(id))))) say(t.removed(name));
    if (made?.id === id) setMade(null);
    await again();
  };
  return (
    <div className="space-y-3">
      {made && <PersonToken made={made} onDone={() => setMade(null)} />}
      <PeopleList
        people={people}
        onChange={(person, access) => void change(person, access)}
        onRenew={(person) => void renew(person)}
        onRemove={(person) => void remove(person)}
      />
      <PersonForm onAdd={add} />
      <NewVisibility />
      <PeopleLog changes={changes} />
    </div>
  );
}

export function PersonToken({ made, onDone }: { made: { name: string; token: string }; onDone: () => void }) {
  return (
    <ShownOnce secret={made.token} label={t.theToken} copyLabel={t.copyToken} doneLabel={t.done} onDone={onDone}>
      {t.tokenOf(made.name)}
    </ShownOnce>
  );
}

interface ListProps {
  people: readonly Person[];
  onChange: (person: Person, access: AccessLevel) => void;
  onRenew: (person: Person) => void;
  onRemove: (person: Person) => void;
}

export function PeopleList({ people, onChange, onRenew, onRemove }: ListProps) {
  const [asked, setAsked] = useState<{ person: Person; act: "remove" | "token" } | null>(null);
  const others = people.filter(({ owner }) => !owner);
  if (others.length === 0) return <p className="text-sm text-ink-3">{t.onlyYou}</p>;
  return (
    <>
      <ul className="divide-y divide-line rounded-2xl border border-line bg-surface">
        {people.map((person) => (
          <li key={person.id} className="flex flex-wrap items-center gap-x-3 gap-y-1 px-4 py-2 text-sm">
            <User size={15} aria-hidden className="shrink-0 text-ink-3" />
            <span dir="auto" className="min-w-0 flex-1 truncate">
              {person.owner ? t.theOwner : person.name}
            </span>
            {person.owner ? (
              <span className="text-xs text-ink-3">{t.levels.admin}</span>
            ) : (
              <span className="flex items-center gap-1">
                <LevelField
                  label={t.accessOf(person.name)}
                  value={person.access}
                  onChange={(access) => onChange(person, access)}
                />
                <IconButton label={t.newToken(person.name)} onClick={() => setAsked({ person, act: "token" })}>
                  <KeyRound size={15} aria-hidden />
                </IconButton>
                <IconButton
                  label={t.remove(person.name)}
                  onClick={() => setAsked({ person, act: "remove" })}
                  className="hover:!text-bad"
                >
                  <Trash2 size={15} aria-hidden />
                </IconButton>
              </span>
            )}
            <Outcomes className="basis-full" />
          </li>
        ))}
      </ul>
      {asked && (
        <Dialog
          title={asked.act === "remove" ? t.removeTitle(asked.person.name) : t.newTokenTitle(asked.person.name)}
          open
          onClose={() => setAsked(null)}
        >
          <p className="text-sm text-ink-2">{asked.act === "remove" ? t.removeWords : t.newTokenWords}</p>
          <div className="mt-4 flex justify-end gap-2">
            <Button onClick={() => setAsked(null)}>{t.cancel}</Button>
            <Button
              look={asked.act === "remove" ? "danger" : "primary"}
              onClick={() => {
                (asked.act === "remove" ? onRemove : onRenew)(asked.person);
                setAsked(null);
              }}
            >
              {asked.act === "remove" ? t.confirmRemove : t.confirmToken}
            </Button>
          </div>
        </Dialog>
      )}
    </>
  );
}

export function PersonForm({ onAdd }: { onAdd: (name: string, access: AccessLevel) => Promise<void> }) {
  const [name, setName] = useState("");
  const [access, setAccess] = useState<AccessLevel>("member");
  const [attemptHere, refusal] = useRefusal();
  const add = async () => {
    if (name.trim() && (await attemptHere(onAdd(name.trim(), access)))) setName("");
  };
  return (
    <Form className="space-y-2" onSubmit={() => void add()}>
      <div className="flex flex-wrap gap-2">
        <input
          aria-label={t.name}
          placeholder={t.name}
          maxLength={60}
          autoComplete="off"
          value={name}
          onChange={({ target }) => setName(target.value)}
          className={`${INPUT} min-w-40 flex-1`}
        />
        <LevelField label={t.access} value={access} onChange={setAccess} />
        <Button type="submit" icon={<UserPlus size={15} aria-hidden />} disabled={!name.trim()}>
          {t.add}
        </Button>
      </div>
      {refusal}
      <p className="text-xs text-ink-3">{t.whatLevelsMay}</p>
    </Form>
  );
}

interface LevelProps {
  label: string;
  value: AccessLevel;
  onChange: (access: AccessLevel) => void;
}

function LevelField({ label, value, onChange }: LevelProps) {
  return (
    <select
      aria-label={label}
      value={value}
      onChange={({ target }) => onChange(target.value as AccessLevel)}
      className="min-h-9 rounded-lg border border-line-strong bg-surface px-2 text-sm thumb:min-h-11"
    >
      {LEVELS.map((level) => (
        <option key={level} value={level}>
          {t.levels[level]}
        </option>
      ))}
    </select>
  );
}
