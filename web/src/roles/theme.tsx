// A role's look. Colour and icon are words from GET /roles; a word that this page does not know gets a neutral look, never an error.

import {
  CircleHelp,
  ClipboardCheck,
  Compass,
  FlaskConical,
  type LucideIcon,
  PencilRuler,
  Search,
  User,
  Zap,
} from "lucide-react";
import { t } from "../texts/roles";
import type { Role } from "../wire/nouns";

const ICONS: Record<string, LucideIcon> = {
  "magnifying-glass": Search,
  "lightning-bolt": Zap,
  compass: Compass,
  "pencil-ruler": PencilRuler,
  "clipboard-check": ClipboardCheck,
  flask: FlaskConical,
  "question-mark": CircleHelp,
  person: User,
};

interface RoleLook {
  name: string;
  title: string;
  colour: string;
  Icon: LucideIcon;
  tooltip: string;
}

export function lookOf(roles: readonly Role[], name: string | null): RoleLook {
  const role = roles.find((one) => one.name === name);
  return {
    name: name ?? "",
    title: titleOf(name ?? "agent"),
    colour: role?.colour ?? "grey",
    Icon: ICONS[role?.icon ?? "question-mark"] ?? User,
    tooltip: builtInTooltip(role) ?? role?.tooltip ?? (roles.length === 0 ? "" : t.theDefinitionOfTheRole(name ?? "")), // none at all: they are not read yet
  };
}

/** A built-in role is described in the page's language, one of the person's own as they wrote it. */
function builtInTooltip(role: Role | undefined): string | undefined {
  return role?.built_in ? t.tooltips[role.name] : undefined;
}

function titleOf(name: string): string {
  const words = name.replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

export function mayWords(role: Role): string {
  const words = role.permissions.map((permission) => t.may[permission] ?? permission);
  return words.length > 0 ? words.join(" · ") : t.mayDoNothing;
}
