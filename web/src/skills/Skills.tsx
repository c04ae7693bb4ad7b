// Agent Skills and plugins: which there are, what each declares, and the buttons that trust, add and remove one.

import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { t } from "../texts/skills";
import { Button } from "../ui/Button";
import { Field, INPUT } from "../ui/Field";
import { Form, TextField } from "../ui/Form";
import { say } from "../ui/outcomes";
import { useRefusal } from "../ui/refusal";
import { LeftOutList, Plugins } from "./Plugins";
import { addSkill, type LeftOut, PLUGINS, SKILLS, useFolder, useSkills } from "./queries";
import { SkillLine } from "./SkillLine";

export function Skills() {
  const { root, roots, choose } = useFolder();
  const { data: skills } = useSkills(root);
  return (
    <div className="space-y-4">
      {roots.length > 1 && (
        <Field label={t.folder}>
          <select value={root} onChange={({ target }) => choose(target.value)} className={INPUT}>
            {roots.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </Field>
      )}
      {skills?.length === 0 && <Nothing />}
      {skills && skills.length > 0 && (
        <ul
          aria-label={t.skills}
          className="divide-y divide-line overflow-hidden rounded-2xl border border-line bg-surface"
        >
          {skills.map((skill) => (
            <SkillLine key={`${skill.source}:${skill.path}`} skill={skill} workspace={root} />
          ))}
        </ul>
      )}
      <Plugins />
      <AddSkill />
    </div>
  );
}

function Nothing() {
  return (
    <div className="space-y-2 rounded-2xl border border-dashed border-line-strong px-4 py-3 text-sm text-ink-2">
      <p>{t.none}</p>
      <p>
        {t.whereOfWorkspace} <code className="font-mono text-[13px] break-all">{t.skillFile}</code> {t.whereElse}
      </p>
    </div>
  );
}

/** Copies it into the data folder. Nobody trusts it by that. */
function AddSkill() {
  const queries = useQueryClient();
  const [path, setPath] = useState("");
  const [notImported, setNotImported] = useState<readonly LeftOut[]>([]);
  const [attempt, refusal, faultAt] = useRefusal({ path: "path" });
  const add = async () => {
    setNotImported([]);
    const { name, leftOut } = await addSkill(path.trim());
    setNotImported(leftOut);
    await Promise.all([SKILLS, PLUGINS, ["hooks"]].map((queryKey) => queries.invalidateQueries({ queryKey })));
    setPath("");
    say(t.added(name));
  };
  return (
    <Form label={t.add} onSubmit={() => path.trim() && void attempt(add())}>
      <TextField
        label={t.path}
        hint={t.pathHint}
        fault={faultAt("path")}
        placeholder={t.pathExample}
        maxLength={4096}
        value={path}
        onChange={setPath}
      />
      {refusal}
      <LeftOutList label={t.notImported} parts={notImported} />
      <Button look="primary" type="submit" disabled={!path.trim()}>
        {t.addButton}
      </Button>
    </Form>
  );
}
