// Texts of app.
import { translated } from "./language";

export const en = {
  noChatWaitsForYou: "No chat waits for you.",
  skipTheListOfChats: "Skip the list of chats",
  closeTheListOfChats: "Close the list of chats",
  thisPartOfThePage: "This part of the page could not be shown",
  theServerDoesNotAnswer:
    "The server does not answer, or it was updated meanwhile. Nothing is lost: what was done is stored there.",
  loadThePageAgain: "Load the page again",
  newChat: "New chat",
  stopTheAgent: "Stop the agent",
  workflows: "Workflows",
  switchTo: (title: string | number) => `Switch to ${title}`,
  nextChatThatWaitsFor: "Next chat that waits for you",
  settings: "Settings",
  rules: "Rules",
  clientKeys: "Client keys",
  plugins: "Plugins",
  darkTheme: "Dark theme",
  lightTheme: "Light theme",
  showOrHideTheChats: "Show or hide the chats",
  keyboardShortcuts: "Keyboard shortcuts",
};

export type Texts = typeof en;
export const t = translated("app", en);
