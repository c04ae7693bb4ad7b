// The roles that an agent can have: built-in ones to look at and duplicate, a person's own to change and delete.
import { useQueryClient } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import { useState } from "react";
import { lookOf, mayWords } from "../roles/theme";
import { useRoles } from "../state/queries";
import { t } from "../texts/definitions";
import { t as settings } from "../texts/settings";
import { Button } from "../ui/Button";
import { attempt, say } from "../ui/toasts";
import { DeleteDialog } from "./DeleteDialog";
import { RoleForm } from "./RoleForm";
import { RowButtons } from "./RowButtons";
import { deleteRole, EMPTY, type RolePage, type RoleValues, readRole } from "./roleDraft";

type Open = { kind: "view"; role: RolePage } | { kind: "new" | "edit"; values: RoleValues } | null;

export function RoleEditor() {
  const [open, show] = useState<Open>(null);
  const [returned, setReturned] = useState(false); // the focus goes back to the list
  const setOpen = (next: Open) => {
    setReturned(next === null);
    show(next);
  };
  const queries = useQueryClient();
  const again = () => queries.invalidateQueries({ queryKey: ["roles"] });
  if (open?.kind === "view")
    return (
      <RoleView
        role={open.role}
        onDuplicate={() => setOpen({ kind: "new", values: copyOf(open.role) })}
        onBack={() => setOpen(null)}
      />
    );
  if (open)
    return (
      <RoleForm
        initial={open.values}
        isNew={open.kind === "new"}
        onDone={() => {
          setOpen(null);
          void again();
        }}
        onCancel={() => setOpen(null)}
      />
    );
  return <RoleList returned={returned} onOpen={setOpen} onChanged={() => void again()} />;
}

interface ListProps {
  returned: boolean;
  onOpen: (open: Open) => void;
  onChanged: () => void;
}

function RoleList({ returned, onOpen, onChanged }: ListProps) {
  const roles = useRoles();
  const [going, setGoing] = useState<string | null>(null);
  const show = (name: string, as: (role: RolePage) => Open) => void attempt(readRole(name).then(as).then(onOpen));
  const remove = async (name: string) => {
    setGoing(null);
    if (await attempt(deleteRole(name))) say(t.deleted(name));
    onChanged();
  };
  return (
    <div className="space-y-3">
      <ul className="divide-y divide-line overflow-hidden rounded-2xl empty:hidden border border-line bg-surface">
        {roles.map((role) => {
          const { Icon, title, colour, tooltip } = lookOf(roles, role.name);
          return (
            <li key={role.name} data-colour={colour} className="flex gap-2 px-4 py-3.5">
              <div className="min-w-0 flex-1">
                <p className="flex flex-wrap items-center gap-2">
                  <Icon size={15} aria-hidden className="text-role" />
                  <span className="font-medium">{title}</span>
                  {!role.built_in && (
                    <span className="rounded-full bg-sunken px-2 py-0.5 text-xs text-ink-2">{settings.customRole}</span>
                  )}
                </p>
                <p className="mt-1 text-sm text-ink-2">{tooltip}</p>
                <p className="mt-1 text-xs text-ink-3">{mayWords(role)}</p>
              </div>
              <RowButtons
                title={title}
                own={!role.built_in}
                onOpen={() =>
                  show(role.name, (found) => (found.built_in ? { kind: "view", role: found } : editing(found)))
                }
                onDuplicate={() => show(role.name, (found) => ({ kind: "new", values: copyOf(found) }))}
                onDelete={() => setGoing(role.name)}
              />
            </li>
          );
        })}
      </ul>
      <Button
        autoFocus={returned}
        icon={<Plus size={15} aria-hidden />}
        onClick={() => onOpen({ kind: "new", values: EMPTY })}
      >
        {t.newRole}
      </Button>
      {going && (
        <DeleteDialog
          name={lookOf(roles, going).title}
          about={t.deleteRoleAbout}
          onDelete={() => void remove(going)}
          onClose={() => setGoing(null)}
        />
      )}
    </div>
  );
}

function RoleView({ role, onDuplicate, onBack }: { role: RolePage; onDuplicate: () => void; onBack: () => void }) {
  const { title, tooltip } = lookOf([role], role.name);
  return (
    <section aria-label={title} className="space-y-3 rounded-2xl border border-line bg-surface p-4">
      <h3 className="font-medium">{title}</h3>
      <p className="text-sm text-ink-2">{tooltip}</p>
      <p className="text-sm">
        {t.permissions}: {role.permissions.map((one) => t.may[one] ?? one).join(", ") || t.noneOfThem}
      </p>
      {role.delegates.length > 0 && (
        <p className="text-sm">
          {t.delegates}: {role.delegates.join(", ")}
        </p>
      )}
      <pre
        tabIndex={0}
        aria-label={t.instructions}
        className="max-h-96 overflow-y-auto rounded-lg bg-sunken p-3 font-mono text-[13px] leading-relaxed whitespace-pre-wrap"
      >
        {role.prompt}
      </pre>
      <div className="flex flex-wrap gap-2">
        <Button autoFocus onClick={onBack}>
          {t.back}
        </Button>
        <Button look="quiet" onClick={onDuplicate}>
          {t.duplicateIt}
        </Button>
      </div>
    </section>
  );
}

function editing({ built_in: _, ...values }: RolePage): Open {
  return { kind: "edit", values };
}

function copyOf({ built_in: _, ...values }: RolePage): RoleValues {
  return { ...values, name: t.copyOf(values.name) };
}
