// Texts of start.
import { translated } from "./language";

export const en = {
  thisTokenIsNotThe: "This token is not valid.",
  thisLinkIsUsedUp:
    "The link was used before, or its time is over. On the server's machine, anycowork open makes a new one.",
  anycowork: "AnyCowork",
  anycoworkOpen: "anycowork open",
  noAccountNoKeyNothing: "No account, no key. Nothing is changed before you have seen it and allowed it.",
  theServerDoesNotAnswer: "The server does not answer.",
  whoAnswers: "Models",
  signInWith: (provider: string) => `Sign in with ${provider}`,
  or: "or",
  enter: "Sign in",
  enterTheDigits: "To change settings, keys or people here, enter the six digits beside the link in your terminal.",
  theseAreNotTheDigits: "These are not the digits of this browser's link. After five wrong ones it is signed out.",
  confirm: "Confirm",
  keyRefused: (name: string) => `${name} refused the key. Check it, and paste the right one.`,
  keyNeeded: (name: string) => `${name} asks for a key. Paste it here.`,
  withAKey: "With a key",
  pasteAKey:
    "Paste a key of OpenAI, Anthropic, Gemini, OpenRouter or any other server. It is stored for you alone and never shown again.",
  connected: (name: string) => `${name} is connected and answered. You can start.`,
  startOllamaLmStudioOr: "Start Ollama, LM Studio or llama.cpp on this machine. It is found automatically.",
  theGuideAnswersNow: "The guide answers now",
  withALocalModel: "With a local model",
  ofTheDataFolderOn: "of the data folder. On the server's machine,",
  opensThisPageSignedIn: "opens this page signed in.",
  connectAModel: "Connect a model",
  pasteYourToken: "Paste your token. The owner's is in the file",
  goOnWithTheGuide: "Continue with the guide",
  youCanStartRightAway: "You can start right away",
  theBuiltInGuideNo: "The built-in guide: no language model, it follows plain requests",
  builtInAndHonestNot: "Built in. It is not a language model, but it follows plain requests like the ones above.",
  token: "token",
};

export type Texts = typeof en;
export const t = translated("start", en);
