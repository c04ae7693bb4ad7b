import { afterEach, expect, it, vi } from "vitest";
import { api } from "../wire/client";
import { decide } from "./acts";

afterEach(() => vi.restoreAllMocks());

it("gives every rule that the decisions made, and none where none was made", async () => {
  const rules = [{ tool: "execute_command" }, { tool: "network" }];
  const data = {
    approvals: [
      { id: "a", decision: "allow_once" },
      { id: "b", decision: "allow_always", rule: rules[0], rules },
    ],
  };
  vi.spyOn(api, "POST").mockResolvedValue({ data, response: new Response() } as never);
  expect(await decide("chat", [])).toEqual(rules);
});
