// Texts of the settings about where a person is told that something waits.
import { translated } from "./language";

export const en = {
  page: "Notifications",
  title: "Notifications",
  about:
    "When something waits for a decision, a notification names its kind and links to its page, never its contents. It is decided on the page.",
  forDeciders: "Nothing waits for people who may only read.",
  thisBrowser: "This browser",
  thisBrowserAbout:
    "Notifications come also while the page is closed. On a phone, install the page first where it asks for that.",
  turnOn: "Turn on here",
  turnOff: "Turn off here",
  isOn: "Turned on in this browser.",
  noPush: "This browser takes no pushed notifications here. They need https, or the machine that the server runs on.",
  notAllowed: "The browser does not allow notifications for this page. Allow them in its settings.",
  elsewhere: "Elsewhere",
  kinds: { webhook: "Webhook", email: "E-mail", web_push: "Browser" },
  kind: "Kind",
  address: "Address",
  addressOf: { webhook: "https://example.org/hook", email: "ada@example.org" },
  add: "Add target",
  secret: "The webhook's secret. It signs each message, and is shown this once.",
  theSecret: "The webhook's secret",
  copySecret: "Copy the secret",
  done: "Done",
  none: "No targets yet. You see what waits on the page alone.",
  test: "Send test",
  testOf: (name: string) => `Send a test to ${name}`,
  tested: "The test was delivered.",
  notTested: (reason: string) => `The test was not delivered. ${reason}`,
  remove: (name: string) => `Remove ${name}`,
  removed: "The target was removed.",
  last: (date: Date) => `last told ${date.toLocaleString("en")}`,
  never: "nothing sent yet",
  disabled: (reason: string) => `Turned off after failures: ${reason}`,
  failed: (reason: string) => `Last attempt failed: ${reason}`,
};

export type Texts = typeof en;
export const t = translated("notifications", en);
