// Texts of app.
import { translated } from "./language";

export const en = {
  role: "role",
  chat: "chat",
  file: "file",
  noChatWaitsForYou: "No chat is waiting for you.",
  skipTheListOfChats: "Skip the list of chats",
  closeTheListOfChats: "Close the list of chats",
  thisPartOfThePage: "This part of the page could not be shown",
  theServerDoesNotAnswer: "The server does not answer, or it was updated. Nothing is lost: your work is stored there.",
  loadThePageAgain: "Reload the page",
  loading: "Loading…",
  couldNotBeRead: "This page could not be read from the server.",
  tryAgain: "Try again",
  newChat: "New chat",
  stopTheAgent: "Stop the agent",
  workflows: "Workflows",
  switchTo: (title: string | number) => `Switch to ${title}`,
  nextChatThatWaitsFor: "Next chat that waits for you",
  settings: "Settings",
  rules: "Rules",
  plugins: "Plugins",
  darkTheme: "Dark theme",
  lightTheme: "Light theme",
  showOrHideTheChats: "Show or hide the chats",
  keyboardShortcuts: "Keyboard shortcuts",
};

export type Texts = typeof en;
export const t = translated("app", en);
