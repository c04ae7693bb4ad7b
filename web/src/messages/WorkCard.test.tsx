import { screen } from "@testing-library/react";
import { expect, it } from "vitest";
import type { Done } from "../state/rows";
import { message, show } from "../testing/render";
import { readToolResult } from "../wire/nouns";
import { WorkCard } from "./WorkCard";

const calls = (count: number, status: string): Done[] =>
  Array.from({ length: count }, (_, at) => ({
    message: message({ id: `m${at}` }),
    call: { id: `c${at}`, tool: "read_file", parameters: { path: `${at}.txt` } },
    result: readToolResult({ tool_call_id: `c${at}`, status }),
    resultId: null,
    output: "",
    seconds: 1,
  }));

it("says how many tools were used when there were many", () => {
  show(<WorkCard calls={calls(5, "ok")} standing={() => "running"} decidedBy={() => ""} thought={null} />);
  expect(screen.getByRole("button", { name: "Used 5 tools" })).toBeTruthy();
});

it("hides nothing that went wrong", () => {
  show(<WorkCard calls={calls(5, "error")} standing={() => "running"} decidedBy={() => ""} thought={null} />);
  expect(screen.getAllByText("failed")).toHaveLength(5);
});
