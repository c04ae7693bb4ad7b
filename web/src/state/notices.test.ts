import { beforeEach, expect, it, vi } from "vitest";
import { setPreference } from "../browser/preferences";
import { approval, event } from "../testing/render";
import { wordingFor } from "./me";
import { notify, wordsFor } from "./notices";

const OWN = wordingFor({ may: () => true });
const shown = vi.fn();

class FakeNotification {
  static permission = "granted";
  onclick: (() => void) | null = null;
  constructor(title: string, options: NotificationOptions) {
    shown(title, options.body);
  }
  close() {}
}

beforeEach(() => {
  shown.mockClear();
  localStorage.clear();
  vi.stubGlobal("Notification", FakeNotification);
});

it("names the tool and nothing of a file", () => {
  const words = wordsFor(
    event("permission-request", 1, { approval: approval({ tool: "update_file", resource: "secret-plans.txt" }) }),
    OWN,
  );
  expect(words).toBe("An approval is waiting: update_file");
});

it("speaks only to who looks elsewhere and wants it", () => {
  const hidden = vi.spyOn(document, "hidden", "get").mockReturnValue(true);
  const asks = event("question", 1, { question: {} });
  notify(asks, OWN);
  expect(shown).not.toHaveBeenCalled();
  setPreference("notifications", "on");
  notify(asks, OWN);
  expect(shown).toHaveBeenCalledWith("AnyCowork", "The agent has a question for you.");
  hidden.mockReturnValue(false);
  notify(asks, OWN);
  expect(shown).toHaveBeenCalledOnce();
});
