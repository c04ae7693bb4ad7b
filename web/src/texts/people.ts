// Texts of the people of a server: who I am, who else is here, what each may do.
import { translated } from "./language";

export const en = {
  page: "People",
  title: "People",
  about: "Who works on this server. Each person has a token of their own; chats are shared by all.",
  onlyYou: "Only you so far. Add someone to work together.",
  name: "Name",
  access: "Access",
  accessOf: (name: string) => `Access of ${name}`,
  add: "Add person",
  levels: { admin: "Admin", member: "Member", viewer: "Viewer" },
  whatLevelsMay: "Admins do everything, members work and approve, viewers only read.",
  owner: "Owner",
  newToken: (name: string) => `Make a new token for ${name}`,
  remove: (name: string) => `Remove ${name}`,
  removeTitle: (name: string) => `Remove ${name}?`,
  removeWords: "Their token and browsers stop working at once. What they did keeps their name.",
  newTokenTitle: (name: string) => `New token for ${name}?`,
  newTokenWords: "The old token and the browsers that signed in with it stop working at once.",
  confirmRemove: "Remove",
  confirmToken: "Make a new token",
  cancel: "Cancel",
  removed: (name: string) => `${name} was removed.`,
  tokenOf: (name: string) => `The token of ${name}. Copy it now: it is not shown again.`,
  theToken: "The new token",
  copyToken: "Copy the token",
  done: "Done",
  youAre: (name: string, level: string) => `Signed in as ${name} (${level})`,
  settingsForAdmins: "Only admins change the other settings.",
  readOnly: "You may only read here. An admin can change that in Settings, People.",
  waitsForOthers: (count: number) =>
    count === 1 ? "A call waits for someone who may approve." : `${count} calls wait for someone who may approve.`,
  approvedBy: (name: string) => `${name} approved the plan`,
  waits: "waits for approval",
  waitsForReview: "waits for review",
  waiting: "Waiting",
  theOwner: "The owner",
  changes: "Changes",
  changesAbout: "Part of the audit chain: checking it finds a changed or removed entry.",
  added: (who: string, name: string, level: string) => `${who} added ${name} (${level})`,
  tokenRenewed: (who: string, name: string) => `${who} made a new token for ${name}`,
  removedBy: (who: string, name: string) => `${who} removed ${name}`,
  renamed: (who: string, old: string, name: string) => `${who} renamed ${old} to ${name}`,
  accessChanged: (who: string, name: string, old: string, level: string) =>
    `${who} changed the access of ${name} from ${old} to ${level}`,
};

export type Texts = typeof en;
export const t = translated("people", en);
