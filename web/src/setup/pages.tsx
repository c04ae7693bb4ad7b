// Which pages the settings have, and what stands on each. One more page is one more entry here and in texts/settings.ts.
import {
  Bell,
  Bot,
  CalendarClock,
  Coins,
  Cpu,
  Folder,
  Globe,
  GraduationCap,
  Info,
  KeyRound,
  type LucideIcon,
  Palette as PaletteIcon,
  Plug,
  Puzzle,
  Server,
  ShieldCheck,
  Users,
} from "lucide-react";
import type { ComponentType } from "react";
import { RoleEditor } from "../definitions/RoleEditor";
import { WorkflowEditor } from "../definitions/WorkflowEditor";
import { McpServers } from "../mcp/McpServers";
import { Notifications } from "../notifications/Notifications";
import { Rules } from "../rules/Rules";
import { Schedules } from "../schedules/Schedules";
import { Triggers } from "../schedules/Triggers";
import { Hooks } from "../skills/Hooks";
import { Skills } from "../skills/Skills";
import { t as limits } from "../texts/limits";
import { t as mcp } from "../texts/mcp";
import { t as notifications } from "../texts/notifications";
import { t as people } from "../texts/people";
import { t as schedules } from "../texts/schedules";
import { t } from "../texts/settings";
import { t as skills } from "../texts/skills";
import { t as usage } from "../texts/usage";
import { t as workers } from "../texts/workers";
import { About, AuditCheck } from "./About";
import { Agents } from "./Agents";
import { Appearance } from "./Appearance";
import { DayLimits } from "./DayLimits";
import { Keys } from "./Keys";
import { Limits } from "./Limits";
import { LocalModels } from "./LocalModels";
import { OwnLimits } from "./OwnLimits";
import { People } from "./People";
import { Plugins } from "./Plugins";
import { Providers } from "./Providers";
import { Sandbox } from "./Sandbox";
import { SearchEngine } from "./SearchEngine";
import { Storage } from "./Storage";
import { UsageReport } from "./UsageReport";
import { Workers } from "./Workers";
import { Workspaces } from "./Workspaces";

interface Section {
  title: string;
  about: string;
  Content: ComponentType;
}

interface SettingsSubpage {
  id: string;
  title: string;
  Icon: LucideIcon;
  sections: readonly Section[];
  /** Earlier addresses of what stands here. */
  once?: readonly string[];
  /** Whether people who are no admins see it too. */
  forAll?: true;
  /** What stands on it for them instead. */
  forOthers?: readonly Section[];
}

const { sections } = t;

export const PAGES: readonly SettingsSubpage[] = [
  {
    id: "models",
    title: t.pages.models,
    Icon: Cpu,
    sections: [
      { ...sections.models, Content: Providers },
      { ...sections.local, Content: LocalModels },
    ],
    once: ["answers", "local"],
  },
  {
    id: "workspaces",
    title: t.pages.workspaces,
    Icon: Folder,
    sections: [{ ...sections.workspaces, Content: Workspaces }],
    once: ["folders"],
  },
  {
    id: "permissions",
    title: t.pages.permissions,
    Icon: ShieldCheck,
    sections: [
      { ...sections.rules, Content: Rules },
      { ...sections.sandbox, Content: Sandbox },
    ],
    once: ["rules", "safety"],
  },
  {
    id: "agents",
    title: t.pages.agents,
    Icon: Bot,
    sections: [
      { ...sections.agents, Content: Agents },
      { ...sections.roles, Content: RoleEditor },
      { ...sections.workflows, Content: WorkflowEditor },
    ],
    once: ["roles", "workflows"],
  },
  {
    id: "skills",
    title: t.pages.skills,
    Icon: GraduationCap,
    sections: [
      { title: skills.skills, about: skills.about, Content: Skills },
      { title: skills.hooks, about: skills.hooksAbout, Content: Hooks },
    ],
    once: ["hooks"],
  },
  {
    id: "mcp",
    title: mcp.title,
    Icon: Plug,
    sections: [{ title: mcp.title, about: mcp.about, Content: McpServers }],
  },
  { id: "plugins", title: t.pages.plugins, Icon: Puzzle, sections: [{ ...sections.plugins, Content: Plugins }] },
  {
    id: "schedules",
    title: schedules.page,
    Icon: CalendarClock,
    sections: [
      { title: schedules.schedules, about: schedules.schedulesAbout, Content: Schedules },
      { title: schedules.triggers, about: schedules.triggersAbout, Content: Triggers },
    ],
    forAll: true,
  },
  {
    id: "api-keys",
    title: t.pages.apiKeys,
    Icon: KeyRound,
    sections: [{ ...sections.apiKeys, Content: Keys }],
    once: ["keys"],
  },
  {
    id: "people",
    title: people.page,
    Icon: Users,
    sections: [{ title: people.title, about: people.about, Content: People }],
  },
  {
    id: "workers",
    title: workers.page,
    Icon: Server,
    sections: [{ title: workers.title, about: workers.about, Content: Workers }],
  },
  { id: "web", title: t.pages.web, Icon: Globe, sections: [{ ...sections.web, Content: SearchEngine }] },
  {
    id: "usage",
    title: usage.page,
    Icon: Coins,
    sections: [
      { title: usage.title, about: usage.about, Content: UsageReport },
      { title: limits.title, about: limits.about, Content: DayLimits },
      { ...sections.limits, Content: Limits },
    ],
    once: ["limits"],
    forAll: true,
    forOthers: [{ title: limits.own, about: limits.ownAbout, Content: OwnLimits }],
  },
  {
    id: "appearance",
    title: t.pages.appearance,
    Icon: PaletteIcon,
    sections: [{ ...sections.appearance, Content: Appearance }],
    once: ["browser"],
    forAll: true,
  },
  {
    id: "notifications",
    title: notifications.page,
    Icon: Bell,
    sections: [{ title: notifications.title, about: notifications.about, Content: Notifications }],
    forAll: true,
  },
  {
    id: "about",
    title: t.pages.about,
    Icon: Info,
    sections: [
      { ...sections.about, Content: About },
      { ...sections.storage, Content: Storage },
      { ...sections.audit, Content: AuditCheck },
    ],
    once: ["storage"],
  },
];

/** The pages of an admin, or of anyone else. Pure. */
export function pagesFor(admin: boolean): readonly SettingsSubpage[] {
  if (admin) return PAGES;
  return PAGES.filter(({ forAll }) => forAll).map((page) => ({ ...page, sections: page.forOthers ?? page.sections }));
}

const FIRST = new Set(["models", "appearance"]);

/** The page of this address; of any other the models, or the appearance for who is no admin. Pure. */
export function pageAt(part: string | null, pages: readonly SettingsSubpage[] = PAGES): SettingsSubpage {
  return (
    pages.find(({ id, once = [] }) => id === part || once.includes(part ?? "")) ??
    pages.find(({ id }) => FIRST.has(id))!
  );
}
