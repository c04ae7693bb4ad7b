// Texts of what can be typed besides words: commands, mentions, attached files. And of compacting.
import { translated } from "./language";

export const en = {
  contextFull: "The context is full",
  contextFullAbout:
    "The model cannot be shown all that it did. Compact goes on from a short record of it; Continue goes on with what fits. Nothing is lost.",
  compact: "Compact",
  compactAbout: "Compact the chat, then continue",
  compacted: (count: number) => `Compacted: the model is no longer shown ${count} earlier messages`,
  compactedAbout: "Nothing was deleted. You still see and search everything.",
  toldInstead: "What the model is shown instead",
  undo: "Undo",
  suggestions: (count: number) => `${count} ${count === 1 ? "suggestion" : "suggestions"}`,
  suggestionsLabel: "Suggestions",
  commands: {
    model: "Choose the model of this chat",
    role: "Switch the role",
    new: "Start a new chat",
    restore: "Restore the files of a checkpoint",
    remember: "Add a note to this folder's AGENTS.md",
    compact: "Shorten what the model is shown of this chat",
    export: "Save this chat as Markdown, JSON or HTML",
    help: "Show what can be typed here",
  },
  file: "File",
  folder: "Folder",
  kinds: {
    "symbol:": "A function, class or other name in the code",
    "mcp:": "A resource of an MCP server",
    "checkpoint:": "A change in this chat",
  },
  checkpointAbout: (at: string, files: number, added: number, removed: number, asked: string) =>
    [at, `${files === 1 ? "1 file" : `${files} files`}, +${added} −${removed}`, asked].filter(Boolean).join(" · "),
  attachFiles: "Attach files",
  attachFilesAbout: "Attach text files or images (or paste, or drop them)",
  filesToSend: "Files to send",
  removeFile: (name: string) => `Remove ${name}`,
  attachedFiles: "Attached files",
  attachedFile: (name: string) => `Attached file ${name}`,
  isNoText: (name: string) =>
    `${name} is not plain text in UTF-8. Put other files into the workspace: agents read them there.`,
  isEmpty: (name: string) => `${name} is empty.`,
  isLargerThan: (name: string, kilobytes: number) => `${name} is larger than ${kilobytes} KB.`,
  aMessageTakesFiles: (count: number) => `A message can hold ${count} files.`,
  togetherTooLarge: (kilobytes: number) =>
    `These files are too large together. A message can hold ${kilobytes} KB of text.`,
  thisFile: "This file",
  noSuchCommandArgument: (text: string) => `“${text}” is not one of the choices.`,
  compactedNow: "Compacted.",
  rememberTitle: "Remember this",
  rememberAbout: "Agents in this folder read it at the start of every turn. Nothing is saved before you press Save.",
  rememberNote: "Note",
  rememberChange: "What changes",
  rememberedAlready: (path: string) => `${path} holds this note already.`,
  rememberSave: "Save",
  rememberCancel: "Cancel",
  remembered: (path: string) => `Saved in ${path}. Checkpoints can undo it.`,
  help: "Commands and mentions",
  helpMentions: "Name something with @",
  expect: "State what is checked when the agent is done: output, protected, check, read or no_change",
  helpMore: "Workflows run with / and their name. Two slashes at the start send a message that begins with one.",
  mentionForms: [
    ["@src/app.py", "The file is read before the model is asked"],
    ["@src/", "The folder is listed"],
    ["@symbol:Window", "Where the name is defined is looked up"],
    ["@mcp:server:uri", "The resource is read; you may be asked first"],
    ["@checkpoint:id", "The model is told when the change was made, and which files it touched"],
  ] as readonly (readonly [string, string])[],
};

export type Texts = typeof en;
export const t = translated("composer", en);
