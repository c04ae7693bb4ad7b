import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, expect, it } from "vitest";
import { Appearance } from "../setup/Appearance";
import { show } from "../testing/render";

beforeEach(() => localStorage.clear());

it("takes Tab to the chosen one and chooses with the arrows, round and round", async () => {
  show(<Appearance />);
  await userEvent.tab();
  expect(document.activeElement).toBe(screen.getByRole("radio", { name: "System" }));
  await userEvent.keyboard("{ArrowLeft}");
  const dark = screen.getByRole("radio", { name: "Dark" });
  expect(document.activeElement).toBe(dark);
  expect(dark.getAttribute("aria-checked")).toBe("true");
  await userEvent.keyboard("{ArrowRight}{ArrowRight}");
  expect(screen.getByRole("radio", { name: "Light" }).getAttribute("aria-checked")).toBe("true");
  await userEvent.tab();
  expect(screen.queryAllByRole("radio")).not.toContain(document.activeElement);
});
