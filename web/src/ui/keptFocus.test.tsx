import { render, screen } from "@testing-library/react";
import { useState } from "react";
import { expect, it } from "vitest";
import { Button } from "./Button";
import { useKeptFocus } from "./keptFocus";

const drawn = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));

function Rows() {
  useKeptFocus();
  const [there, setThere] = useState(true);
  return <section aria-label="Rows">{there && <Button onClick={() => setThere(false)}>Remove</Button>}</section>;
}

it("gives the focus of a button that went away to what it stood in", async () => {
  render(<Rows />);
  const button = screen.getByRole("button", { name: "Remove" });
  button.focus();
  button.click();
  await drawn();
  expect(document.activeElement).toBe(screen.getByRole("region", { name: "Rows" }));
});

it("gives the focus back to a button that could not be pressed while its work was done", async () => {
  const { rerender } = render(<Switched off={false} />);
  const button = screen.getByRole("button", { name: "Work" });
  button.focus();
  button.blur(); // as a browser does when it switches it off
  rerender(<Switched off />);
  await drawn();
  expect(document.activeElement).toBe(document.body);
  rerender(<Switched off={false} />);
  await drawn();
  expect(document.activeElement).toBe(button);
});

function Switched({ off }: { off: boolean }) {
  useKeptFocus();
  return <Button disabled={off}>Work</Button>;
}
