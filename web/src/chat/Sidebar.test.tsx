import { useQueryClient } from "@tanstack/react-query";
import { screen } from "@testing-library/react";
import { expect, it } from "vitest";
import { CHATS } from "../state/sidebar";
import { show } from "../testing/render";
import type { Chat } from "../wire/nouns";
import { ChatLine, Sidebar } from "./Sidebar";

const IDLE = { state: "idle", updated_at: "2026-01-02T03:04:05Z", config: { agent_role: "actor" } };
const job = (id: string, status: string) => ({ id, request: `Job ${id}`, status, context_id: id });

function WithJobs() {
  const queries = useQueryClient();
  const jobs = [job("a", "awaiting_commit"), job("b", "awaiting_approval"), job("c", "running"), job("d", "completed")];
  queries.setQueryData([...CHATS, "jobs"], { jobs });
  queries.setQueryData([...CHATS, "waiting", ""], { contexts: [] });
  queries.setQueryData([...CHATS, "pinned", ""], { contexts: [] });
  queries.setQueryData([...CHATS, "listed", "", false], { pages: [{ contexts: [], next: null }], pageParams: [null] });
  return <Sidebar current={null} onLeave={() => {}} onPalette={() => {}} />;
}

it("lists a job whose changes wait under what waits for the person, and counts all that wait beside Jobs", async () => {
  show(<WithJobs />);
  expect((await screen.findByRole("link", { name: /^Job a/ })).getAttribute("href")).toBe("#/jobs/a");
  expect(screen.queryByRole("link", { name: /^Job [bcd]/ })).toBeNull(); // the chat of b waits itself
  expect(screen.getByText("Waiting for you")).toBeTruthy();
  expect(screen.getByRole("link", { name: /^Jobs/ }).textContent).toMatch(/2/);
});

it("says beside a chat who sees it, unless everybody does", () => {
  const line = (visibility: string) => ({ ...IDLE, id: visibility, title: visibility, visibility }) as Chat;
  const lines = ["private", "group:design", "everyone"].map((each) => (
    <ChatLine key={each} chat={line(each)} current={false} onOpen={() => {}} />
  ));
  show(<ul>{lines}</ul>);
  expect(screen.getByLabelText("Private").closest("a")?.getAttribute("href")).toBe("#/chat/private");
  expect(screen.getByLabelText("Shared with design").closest("a")?.getAttribute("href")).toBe("#/chat/group:design");
  expect(screen.getByRole("link", { name: /everyone/ }).textContent).not.toMatch(/Private|Shared/);
});
