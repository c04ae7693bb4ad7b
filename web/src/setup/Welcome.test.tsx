import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import { show } from "../testing/render";
import type { Provider } from "../wire/nouns";
import { Limits } from "./Limits";
import { Welcome } from "./Welcome";

const provider = (name: string, kind: string) => ({ name, kind, default: true, models: ["m"] }) as unknown as Provider;

it("keeps the open dialog when another model answers meanwhile", async () => {
  const { rerender } = show(<Welcome providers={[provider("guide", "guide")]} />);
  await userEvent.click(screen.getByRole("button", { name: "Connect a model" }));
  const dialog = await screen.findByRole("dialog", { name: "Connect a model" });
  rerender(<Welcome providers={[provider("ollama", "openai")]} />);
  expect(dialog.isConnected).toBe(true);
  expect(screen.queryByText("You can start right away")).toBeNull();
});

it("keeps the number that is being typed when the settings are read again", async () => {
  const queries = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity } } });
  queries.setQueryData(["settings"], { max_steps: 10, diagnostics_seconds: 2 });
  show(
    <QueryClientProvider client={queries}>
      <Limits />
    </QueryClientProvider>,
  );
  const field = screen.getByLabelText<HTMLInputElement>("Tool calls per turn");
  expect(screen.getByLabelText<HTMLInputElement>(/language server/).value).toBe("2");
  await userEvent.clear(field);
  await userEvent.type(field, "25");
  act(() => queries.setQueryData(["settings"], { max_steps: 12 }));
  expect(field.value).toBe("25");
  expect(document.activeElement).toBe(field);
});
