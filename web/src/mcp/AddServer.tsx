// Adds a server. The catalogue fills in the form.

import { useState } from "react";
import { t } from "../texts/mcp";
import { Button } from "../ui/Button";
import { api, given } from "../wire/client";
import { CATALOGUE } from "./catalogue";
import { ServerForm } from "./ServerForm";
import { EMPTY, newServer, type TypedServer } from "./serverBody";

export function AddServer({ onAdded }: { onAdded: (name: string) => void }) {
  const [chosen, setChosen] = useState({ start: EMPTY, times: 0 });
  const choose = (start: TypedServer) => setChosen(({ times }) => ({ start, times: times + 1 }));
  const add = async (typed: TypedServer) => {
    const body = newServer(typed);
    await given(api.POST("/mcp/servers", { body: body as never }));
    choose(EMPTY);
    onAdded(body.name);
  };
  return (
    <section className="space-y-3 rounded-2xl border border-line bg-surface p-4">
      <h3 className="text-sm font-semibold">{t.add}</h3>
      <fieldset>
        <legend className="text-sm font-medium">{t.catalogue}</legend>
        <p className="mb-1.5 text-xs text-ink-3">{t.choose}</p>
        <div className="flex flex-wrap gap-2">
          {CATALOGUE.map(({ about, install, ...typed }) => (
            <Button
              key={typed.name}
              title={`${about}. ${t.install(install)}`}
              onClick={() => choose({ ...EMPTY, ...typed })}
            >
              {typed.name}
            </Button>
          ))}
        </div>
      </fieldset>
      <ServerForm key={chosen.times} label={t.add} submit={t.addButton} start={chosen.start} onSubmit={add} />
    </section>
  );
}
