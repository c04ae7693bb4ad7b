import { screen } from "@testing-library/react";
import { expect, it } from "vitest";
import { SETTINGS } from "../commands";
import { expectAccessible, show } from "../testing/render";
import { PAGES, pageAt } from "./pages";
import SettingsPage from "./SettingsPage";

it("gives each page an address, and keeps the earlier ones", () => {
  expect(PAGES.map(({ id }) => pageAt(id).id)).toEqual(PAGES.map(({ id }) => id));
  expect(
    ["answers", "folders", "rules", "keys", "safety", "browser", "nonsense", null].map((at) => pageAt(at).id),
  ).toEqual(["models", "workspaces", "permissions", "api-keys", "permissions", "appearance", "models", "models"]);
});

it("shows one page at a time, and says which", async () => {
  const { container } = show(<SettingsPage part="appearance" onSidebar={() => {}} />);
  expect(screen.getByRole("link", { current: "page" }).textContent).toContain("Appearance");
  expect(screen.getAllByRole("region").map((region) => region.getAttribute("aria-label"))).toEqual(["Appearance"]);
  expect(screen.getByLabelText("Language")).toBeTruthy();
  await expectAccessible(container);
});

it("names the roles and what each may do", () => {
  show(<SettingsPage part="agents" onSidebar={() => {}} />);
  expect(screen.getByText("Planner")).toBeTruthy();
  expect(screen.getAllByText("custom role").length).toBeGreaterThan(0);
});

it("is found in the palette page by page, with the same name and sign and for the same people", () => {
  const pages = PAGES.map(({ id, title, Icon, forAll }) => [id, title, Icon, forAll]);
  expect(SETTINGS.map(([id, words, Icon, forAll]) => [id, words, Icon, forAll])).toEqual(pages);
});
