import { createEvent, fireEvent } from "@testing-library/react";
import { expect, it } from "vitest";
import { holdStrayFiles } from "./strayFiles";
import { useToasts } from "./toasts";

const files = { dataTransfer: { files: [new File(["x"], "a.txt")], types: ["Files"] } };
const words = { dataTransfer: { files: [], types: ["text/plain"] } };

function dropped(what: object): boolean {
  const event = createEvent.drop(document.body, what);
  fireEvent(document.body, event);
  return event.defaultPrevented;
}

it("holds a dropped file, says where it belongs, and leaves words alone", () => {
  useToasts.setState({ toasts: [] }); // tests of other files may have said something
  const letGo = holdStrayFiles();
  expect(dropped(words)).toBe(false);
  expect(useToasts.getState().toasts).toEqual([]);
  expect(dropped(files)).toBe(true);
  expect(useToasts.getState().toasts.at(-1)?.words).toContain("into the workspace");
  letGo();
  expect(dropped(files)).toBe(false);
});
