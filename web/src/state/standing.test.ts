import { expect, it } from "vitest";
import { message } from "../testing/render";
import type { ChatView } from "./reduce";
import { planStanding } from "./standing";

it("takes a plan whose tasks were assigned for approved, also when the chat is opened later", () => {
  const plan = message({ id: "p", message_type: "plan" });
  const view = (...messages: ReturnType<typeof message>[]) => ({ plans: {}, messages }) as unknown as ChatView;
  expect(planStanding(view(plan), "p").state).toBe("open");
  const assigned = message({ id: "a", message_type: "task_assignment", task_id: "1" });
  expect(planStanding(view(plan, assigned), "p").state).toBe("approved");
  expect(planStanding(view(assigned, plan), "p").state).toBe("open"); // of a job before it
});
