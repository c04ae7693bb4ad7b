import { expect, it } from "vitest";
import { hearTabs, tellTabs } from "./tabs";

it("tells the other tabs, until they listen no longer", async () => {
  let heard = 0;
  const told = new Promise<void>((resolve) => {
    const leave = hearTabs(() => {
      heard += 1;
      leave();
      resolve();
    });
  });
  tellTabs();
  await told;
  tellTabs();
  expect(heard).toBe(1);
});
