// The roles that an agent can have, and what each may do.
import { lookOf, mayWords } from "../roles/theme";
import { useRoles } from "../state/queries";
import { t } from "../texts/settings";

export function RoleList() {
  const roles = useRoles();
  return (
    <ul className="divide-y divide-line overflow-hidden rounded-2xl border border-line bg-surface">
      {roles.map((role) => {
        const { Icon, title, colour, tooltip } = lookOf(roles, role.name);
        return (
          <li key={role.name} data-colour={colour} className="px-4 py-3.5">
            <p className="flex flex-wrap items-center gap-2">
              <Icon size={15} aria-hidden className="text-role" />
              <span className="font-medium">{title}</span>
              {!role.built_in && (
                <span className="rounded-full bg-sunken px-2 py-0.5 text-xs text-ink-2">{t.customRole}</span>
              )}
            </p>
            <p className="mt-1 text-sm text-ink-2">{tooltip}</p>
            <p className="mt-1 text-xs text-ink-3">{mayWords(role)}</p>
          </li>
        );
      })}
    </ul>
  );
}
