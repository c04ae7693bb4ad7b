// The role, always in view; one click opens the others.

import { Check, ChevronDown } from "lucide-react";
import { useRoles } from "../state/queries";
import { t } from "../texts/roles";
import { Menu, MenuChoice, MenuLabel, MenuOption } from "../ui/Menu";
import { lookOf, mayWords } from "./theme";

interface Props {
  role: string;
  onChoose: (role: string) => void;
}

export function RoleSelector({ role, onChoose }: Props) {
  const roles = useRoles();
  const { Icon, title, colour, tooltip } = lookOf(roles, role);
  const trigger = (
    <button
      type="button"
      id="role-selector"
      data-colour={colour}
      title={tooltip}
      aria-label={t.roleChangeRole(title)}
      className="inline-flex min-h-9 max-w-40 shrink-0 items-center gap-2 rounded-full border border-role/25 bg-role-soft py-1 pr-2.5 pl-3 thumb:min-h-11 sm:max-w-60 text-sm font-semibold text-role hover:border-role/60"
    >
      <Icon size={15} strokeWidth={2.4} aria-hidden className="shrink-0" />
      <span className="min-w-0 truncate">{title}</span>
      <ChevronDown size={14} aria-hidden className="shrink-0 opacity-70" />
    </button>
  );
  return (
    <Menu trigger={trigger} label={t.roles} align="end" className="w-80 max-w-[calc(100vw-1rem)]">
      <MenuLabel>{t.whoShouldTheAgentBe}</MenuLabel>
      <MenuChoice value={role} onChoose={onChoose}>
        {roles.map((one) => (
          <RoleOption key={one.name} name={one.name} may={mayWords(one)} current={one.name === role} />
        ))}
      </MenuChoice>
    </Menu>
  );
}

function RoleOption({ name, may, current }: { name: string; may: string; current: boolean }) {
  const { Icon, title, colour, tooltip } = lookOf(useRoles(), name);
  return (
    <MenuOption value={name} className="items-start">
      <span
        data-colour={colour}
        className="mt-0.5 inline-flex size-7 shrink-0 items-center justify-center rounded-lg bg-role-soft text-role"
      >
        <Icon size={15} strokeWidth={2.4} aria-hidden />
      </span>
      <span className="min-w-0 flex-1">
        <span className="flex flex-wrap items-baseline gap-x-2">
          <span className="font-semibold">{title}</span>
          <span className="text-xs text-ink-3">{may}</span>
        </span>
        <span className="block text-xs leading-snug text-ink-2">{tooltip}</span>
      </span>
      {current && <Check size={16} aria-label={t.currentRole} className="mt-1 shrink-0" />}
    </MenuOption>
  );
}
