// The roles that an agent can have: built-in ones to look at and duplicate, a person's own to change and delete.
import { lookOf, mayWords } from "../roles/theme";
import { useRoles } from "../state/queries";
import { t } from "../texts/definitions";
import { t as roles } from "../texts/roles";
import { t as settings } from "../texts/settings";
import { DefinitionList, DefinitionView, type Opened, useDefinitionEditor } from "./DefinitionEditor";
import { RoleForm } from "./RoleForm";
import { RowButtons } from "./RowButtons";
import { deleteRole, EMPTY, type RolePage, type RoleValues, readRole } from "./roleDraft";

interface RoleDraft {
  isNew: boolean;
  values: RoleValues;
}
type OpenedRole = Opened<RolePage, RoleDraft>;

export function RoleEditor() {
  const roles = useRoles();
  const editor = useDefinitionEditor<RolePage, RoleDraft>({ queryKey: "roles", read: readRole, remove: deleteRole });
  const { opened, open, show, close } = editor;
  if (opened && "view" in opened)
    return <RoleView role={opened.view} onDuplicate={() => open(copyOf(opened.view))} onBack={close} />;
  if (opened)
    return <RoleForm initial={opened.draft.values} isNew={opened.draft.isNew} onDone={editor.saved} onCancel={close} />;
  return (
    <DefinitionList
      editor={editor}
      create={t.newRole}
      onCreate={() => open({ draft: { isNew: true, values: EMPTY } })}
      titleOf={(name) => lookOf(roles, name).title}
      deleteAbout={t.deleteRoleAbout}
    >
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
              onOpen={() => show(role.name, (found) => (found.built_in ? { view: found } : editing(found)))}
              onDuplicate={() => show(role.name, copyOf)}
              onDelete={() => editor.setDeleting(role.name)}
            />
          </li>
        );
      })}
    </DefinitionList>
  );
}

function RoleView({ role, ...actions }: { role: RolePage; onDuplicate: () => void; onBack: () => void }) {
  const { title, tooltip } = lookOf([role], role.name);
  return (
    <DefinitionView label={title} text={role.prompt} textLabel={t.instructions} {...actions}>
      <h3 className="font-medium">{title}</h3>
      <p className="text-sm text-ink-2">{tooltip}</p>
      <p className="text-sm">
        {t.permissions}: {role.permissions.map((one) => roles.permissions[one] ?? one).join(", ") || t.noneOfThem}
      </p>
      {role.delegates.length > 0 && (
        <p className="text-sm">
          {t.delegates}: {role.delegates.join(", ")}
        </p>
      )}
    </DefinitionView>
  );
}

function editing({ built_in: _, ...values }: RolePage): OpenedRole {
  return { draft: { isNew: false, values } };
}

function copyOf({ built_in: _, ...values }: RolePage): OpenedRole {
  return { draft: { isNew: true, values: { ...values, name: t.copyOf(values.name) } } };
}
