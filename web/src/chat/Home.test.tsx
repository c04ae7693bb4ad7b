import { fireEvent, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it, vi } from "vitest";
import { show } from "../testing/render";
import { RoleChips } from "./Home";

it("chooses a role as soon as it is pressed: the page may move before it is released", async () => {
  const onChoose = vi.fn();
  show(<RoleChips role="planner" onChoose={onChoose} />);
  const actor = screen.getByRole("radio", { name: "Actor" });
  fireEvent.pointerDown(actor, { pointerType: "mouse", button: 2 });
  fireEvent.pointerDown(actor, { pointerType: "touch", button: 0 }); // it may be the start of scrolling
  expect(onChoose).not.toHaveBeenCalled();
  fireEvent.pointerDown(actor, { pointerType: "mouse", button: 0 });
  expect(onChoose).toHaveBeenLastCalledWith("actor");
  await userEvent.click(screen.getByRole("radio", { name: "House elf" }));
  expect(onChoose).toHaveBeenLastCalledWith("house_elf");
});
