// Texts of the list of chats: search, groups, pins, archive, export.
import { translated } from "./language";

export const en = {
  inMessages: "In messages",
  you: "You",
  agent: "Agent",
  moreResults: "Show more results",
  pinned: "Pinned",
  today: "Today",
  yesterday: "Yesterday",
  lastWeek: "Last 7 days",
  older: "Older",
  archived: "Archived",
  showArchived: "Archived chats",
  backToChats: "Back to all chats",
  noArchivedChats: "No archived chats.",
  groupByDate: "Group by date",
  groupByWorkspace: "Group by workspace",
  nothingFound: "No title and no message has these words.",
  privateChat: "Private",
  sharedWith: (group: string) => `Shared with ${group}`,
  whoSeesIt: "Who can see it",
  onlyItsOwner: "Only its owner",
  groupAndOwner: (group: string) => `The group ${group}`,
  everyoneHere: "Everyone on this server",
  filesAreNotHidden: "The files of its workspace are not hidden by this.",
  chatsAreSeenByNoMore:
    "Its chats are seen by nobody else, whatever is set for them. Its files are not hidden by this.",
  seenBy: (who: string) => `Who can see it: ${who}`,
  changeWhoSees: (name: string) => `Change who can see ${name}`,
  change: "Change",
  changeWhoSeesIt: "Save",
  pin: "Pin",
  unpin: "Unpin",
  archive: "Archive",
  unarchive: "Move out of the archive",
  exportMarkdown: "Export as Markdown",
  exportJson: "Export as JSON",
  exportHtml: "Export as HTML report",
};

export type Texts = typeof en;
export const t = translated("chats", en);
