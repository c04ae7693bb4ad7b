import { screen } from "@testing-library/react";
import { expect, it } from "vitest";
import { message, show } from "../testing/render";
import { ErrorCard } from "./ErrorCard";

// proves UI-2/9
it("gives the reason and the way out", () => {
  const fault = { code: "provider_bad_key", message: "The key was refused.", retryable: false };
  show(<ErrorCard message={message({ role: "system", content: fault.message })} fault={fault} />);
  expect(screen.getByText("The key was refused.")).toBeTruthy();
  expect(screen.getByText(/Check the key/)).toBeTruthy();
  expect(screen.getByRole("link", { name: "Models" }).getAttribute("href")).toBe("#/settings/models");
});

it("has the person choose another model where the chat's own is gone", () => {
  const fault = { code: "no_such_model", message: "No model server 'lab' is connected.", retryable: false };
  show(<ErrorCard message={message({ role: "system", content: fault.message })} fault={fault} />);
  expect(screen.getByText(/Choose another model for this chat/)).toBeTruthy();
});
