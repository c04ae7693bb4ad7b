import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, it, vi } from "vitest";
import { expectAccessible, show } from "../testing/render";
import { api } from "../wire/client";
import { Plugins } from "./Plugins";

afterEach(() => vi.restoreAllMocks());

const PLUGINS = [
  {
    name: "charts",
    version: "2.1",
    on: true,
    tools: 1,
    problems: ["'draw' asks for a permission that there is none of."],
  },
  { name: "gone", version: null, on: true, tools: 0, problems: ["It is not installed."] },
  { name: "words", version: "1.0", on: false, tools: 0, problems: [] as string[] },
];

/** A server that has these plugins and switches them as it is told. */
function serve(plugins = PLUGINS) {
  const put = vi.fn();
  let found = plugins;
  vi.spyOn(api, "GET").mockImplementation((async () => ({
    data: { plugins_found: found },
    response: new Response(),
  })) as never);
  vi.spyOn(api, "PUT").mockImplementation((async (_: string, { body }: { body: { plugins: string[] } }) => {
    put(body);
    found = plugins.map((one) => ({
      ...one,
      on: body.plugins.includes(one.name),
      tools: body.plugins.includes(one.name) ? 7 : 0,
    }));
    return { data: {}, response: new Response() };
  }) as never);
  return put;
}

it("says which plugins there are, what they bring and what is wrong", async () => {
  serve();
  const { container } = show(<Plugins />);
  expect(await screen.findByText("1 tool")).toBeTruthy();
  expect(screen.getByText("not installed")).toBeTruthy();
  expect(screen.getByText("off")).toBeTruthy();
  expect(screen.getByLabelText("What is wrong with charts").textContent).toContain("'draw' asks for a permission");
  await expectAccessible(container);
});

it("switches one on and off and leaves the others as they are", async () => {
  const put = serve();
  show(<Plugins />);
  await userEvent.click(await screen.findByRole("button", { name: "words: turn on" }));
  expect(put).toHaveBeenLastCalledWith({ plugins: ["charts", "gone", "words"] });
  const off = await screen.findByRole("button", { name: "words: turn off" });
  expect(document.activeElement).toBe(off);
  await userEvent.click(off);
  expect(put).toHaveBeenLastCalledWith({ plugins: ["charts", "gone"] });
});

it("says how one comes here while there is none", async () => {
  serve([]);
  show(<Plugins />);
  expect(await screen.findByText(/No plugin is installed/)).toBeTruthy();
});
