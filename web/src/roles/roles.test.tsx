import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it, vi } from "vitest";
import { expectAccessible, ROLES, show } from "../testing/render";
import { RoleSelector } from "./RoleSelector";
import { SwitchDialog } from "./SwitchDialog";
import { lookOf } from "./theme";

it("shows the role by colour, icon and word, and the others on one click", async () => {
  const onChoose = vi.fn();
  const { container } = show(<RoleSelector role="planner" onChoose={onChoose} />);
  const trigger = screen.getByRole("button", { name: /Role: Planner/ });
  expect(trigger.dataset["colour"]).toBe("blue");
  expect(trigger.querySelector("svg.lucide-search")).toBeTruthy();
  await expectAccessible(container);
  await userEvent.click(trigger);
  await userEvent.click(screen.getByRole("menuitemradio", { name: /Actor/ }));
  expect(onChoose).toHaveBeenCalledWith("actor");
});

it("shows a team's own role, whatever its colour and icon", async () => {
  show(<RoleSelector role="house_elf" onChoose={() => {}} />);
  expect(screen.getByRole("button", { name: /Role: House elf/ })).toBeTruthy();
});

it("gives a role whose definition is gone a neutral look", () => {
  expect(lookOf(ROLES, "vanished")).toMatchObject({ colour: "grey", title: "Vanished" });
  expect(lookOf(ROLES, "vanished").tooltip).toContain("no longer exists");
  expect(lookOf([], "planner").tooltip).toBe(""); // not read yet is not gone
});

it("asks before a switch that stops the agent", async () => {
  const onConfirm = vi.fn();
  show(<SwitchDialog role="planner" words="The agent is at work." onConfirm={onConfirm} onClose={() => {}} />);
  await userEvent.click(screen.getByRole("button", { name: "Stop and switch" }));
  expect(onConfirm).toHaveBeenCalledOnce();
});
