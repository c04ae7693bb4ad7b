import { screen } from "@testing-library/react";
import { expect, it } from "vitest";
import { message, show } from "../testing/render";
import { RoleChangeCard } from "./RoleChangeCard";

// proves UI-2/7
it("names both roles", () => {
  show(
    <RoleChangeCard
      message={message({
        role: "system",
        message_type: "role_change",
        payload: { old_role: "planner", new_role: "actor" },
      })}
    />,
  );
  expect([screen.getByText("Planner"), screen.getByText("Actor")]).toHaveLength(2);
});

it("shows the words of an old message that has no payload", () => {
  show(<RoleChangeCard message={message({ content: "Mode changed" })} />);
  expect(screen.getByText("Mode changed")).toBeTruthy();
});
