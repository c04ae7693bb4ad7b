// Texts of skills and hooks.
import { bytesText, translated } from "./language";

const OUTCOMES = { nothing: "no objection", ask: "asked", deny: "denied" } as Readonly<Record<string, string>>;

export const en = {
  skills: "Skills",
  about:
    "Instructions with files, which /name activates for one message. A skill is read by a model only once you trust its content. It grants nothing: what it does not declare asks, whatever rules allow.",
  hooks: "Hooks",
  hooksAbout:
    "Commands of yours that look at messages, calls and the end of a turn. They run in the sandbox, and can only deny, ask you, or add words or checks.",
  folder: "Workspace",
  none: "No skill yet. A skill is a folder with a file SKILL.md: a name, a description, what it needs, and instructions; scripts and other files may lie beside it.",
  whereOfWorkspace: "Put it into a workspace as",
  skillFile: ".agents/skills/NAME/SKILL.md",
  whereElse:
    "(or below .claude/skills), or add it here for every workspace. Agents of other makers read the same files.",
  sources: { workspace: "of the workspace:", data: "of the data folder:", plugin: "of a plugin:" } as Readonly<
    Record<string, string>
  >,
  trusted: "trusted",
  notTrusted: "not trusted: it is not used",
  changedSince: "changed since you trusted it: it is not used",
  unusable: "cannot be used",
  declares: (name: string) => `What ${name} declares`,
  mayUse: "Uses",
  mayReach: "Commands reach",
  mayChange: "Changes",
  noTools: "reading only; everything else asks",
  noHosts: "no host",
  anyPath: "any path that role and rules allow",
  tools: {
    read: "reading files",
    anyCommand: "any command",
    commandsOf: (program: string) => `commands with ${program}`,
    command: (command: string) => `the command “${command}”`,
    write: "creating and changing files",
    writeIn: (paths: string) => `creating and changing ${paths}`,
    edit: "changing files",
    editIn: (paths: string) => `changing ${paths}`,
    pages: "web pages",
    pagesOf: (host: string) => `web pages of ${host}`,
    search: "web search",
    agents: "other agents",
    other: (tool: string) => `the tool ${tool}`,
  },
  wrongWith: (name: string) => `What is wrong with ${name}`,
  files: "Files",
  readAndTrust: "Read it, to trust it",
  covers: (files: number) =>
    `${files === 1 ? "Trust covers exactly this file" : `Trust covers exactly these ${files} files`}; any change asks again.`,
  size: (bytes: number) => bytesText(bytes),
  notText: "Not shown: it is a key file, or no short text. Open it before you trust it.",
  cannotShow: (path: string) => `This page cannot show it. Open ${path} before you trust it.`,
  plugins: "Plugins",
  pluginVersion: (version: string): string => (version ? `plugin, version ${version}` : "plugin"),
  pluginFrom: "Copied from",
  pluginSkills: (names: string) => `Skills, each trusted for itself: ${names}`,
  listedOnly: (name: string) => `Agents and MCP servers of ${name}: only listed, add what you want yourself`,
  notImported: "Not imported",
  readAndTrustHooks: "Read what its hooks may use, to trust them",
  hooksOfPlugin: (trusted: boolean): string =>
    trusted ? "of a plugin, for every workspace" : "of a plugin: they do not run until you trust them under Plugins",
  removePluginAbout: "All that it brought is deleted: its skills, commands and hooks, and your trust in them.",
  add: "Add a skill or plugin",
  path: "The folder of the skill, plugin or marketplace",
  pathHint: "on the server's machine; it is copied into the data folder, for every workspace",
  pathExample: "/home/me/skills/pdf-forms",
  addButton: "Add",
  added: (name: string) => `${name} was added. Read it, then trust it.`,
  remove: (name: string) => `Remove ${name}`,
  removeButton: "Remove",
  removed: (name: string) => `${name} is removed.`,
  removeAbout: "Its copy in the data folder is deleted.",
  noHooks: "No hooks. They stand in",
  hooksFile: ".anycowork/hooks.json",
  noHooksElse: "of a workspace, once you trust it, or in hooks.json of the data folder, which holds everywhere.",
  ofDataFolder: "of the data folder, for every workspace",
  hooksOf: (path: string) => `Hooks of ${path}`,
  everyTool: "every tool",
  events: {
    PreToolUse: (tools: string) => `Before a call of ${tools}`,
    PostToolUse: (tools: string) => `After a call of ${tools}`,
    SessionStart: () => "Before the first message of a chat",
    UserPromptSubmit: () => "Before a message is taken",
    Stop: () => "Before a turn ends",
    SubagentStop: () => "Before a task of a job ends",
    PreCompact: () => "Before a chat is compacted",
  },
  notRunYet: "It has not run since the server started.",
  /** What it came to last, with its reason. One that failed before a call has a person asked. */
  outcome: (decision: string, reason: string, failed: boolean) =>
    `Last: ${failed ? "failed" : (OUTCOMES[decision] ?? decision)}${reason ? `: ${reason}` : ""}`,
};

export type Texts = typeof en;
export const t = translated("skills", en);
