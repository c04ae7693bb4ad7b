import { expect, it } from "vitest";
import { texts as german } from "./de";
import { en } from "./server";

const COPIED =
  "a workspace with other mounts in it is copied for each command; in one of more than 2.0 GB (command_copy_bytes) no command runs then";

it("words a sentence of the server in German, with the part that differs", () => {
  expect(german.server.sentence("no process of it is left running")).toBe("Keiner seiner Prozesse läuft danach weiter");
  expect(german.server.sentence(COPIED)).toContain("von mehr als 2,0 GB (command_copy_bytes)");
  expect(german.server.sentence(COPIED)).not.toContain("workspace");
});

it("shows a sentence that it does not know as the server wrote it", () => {
  expect(german.server.sentence("constructor of something new")).toBe("constructor of something new");
  expect(en.sentence("no process of it is left running")).toBe("no process of it is left running");
});

it("words a refusal in German by its code, and keeps a detail that counts", () => {
  expect(german.server.refusal("turn_running", "A turn is running.")).toMatch(
    /^In diesem Chat läuft noch eine Antwort\./,
  );
  expect(german.server.refusal("restore_conflict", "'a.txt' would be overwritten.")).toMatch(
    /überschrieben\..*\(Server: 'a\.txt' would be overwritten\.\)$/,
  );
  expect(german.server.refusal("chat_not_found", "There is no chat 'x'.")).toMatch(/^Das gibt es hier nicht.*'x'/);
  expect(german.server.refusal("constructor", "Something new.")).toBe("Something new.");
  expect(en.refusal("turn_running", "A turn is running.")).toBe("A turn is running.");
});
