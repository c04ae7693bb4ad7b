import { useQuery } from "@tanstack/react-query";
import { act, screen, waitFor, within } from "@testing-library/react";
import { expect, it } from "vitest";
import { show } from "../testing/render";
import { Refusal } from "../wire/client";
import { WhenLoaded } from "./WhenLoaded";

function Answer({ name, comes }: { name: string; comes: () => Promise<string> }) {
  const { data } = useQuery({ queryKey: [name], queryFn: comes, retry: false });
  return <button type="button">{`${name} ${data ?? "?"}`}</button>;
}

function held() {
  let resolve!: (text: string) => void;
  const promise = new Promise<string>((good) => (resolve = good));
  return { promise, resolve };
}

it("shows its parts together, when the last of them has its answer", async () => {
  const first = held();
  const second = held();
  const { container } = show(
    <WhenLoaded>
      <Answer name="first" comes={() => first.promise} />
      <Answer name="second" comes={() => second.promise} />
    </WhenLoaded>,
  );
  const hidden = () => container.querySelector(".invisible");
  expect(screen.getByRole("status").textContent).toBe("Loading…");
  await act(async () => first.resolve("here"));
  await waitFor(() => expect(container.textContent).toContain("first here"));
  expect(hidden()).not.toBeNull();
  await act(async () => second.resolve("here too"));
  await waitFor(() => expect(hidden()).toBeNull());
  expect(screen.queryByRole("status")).toBeNull();
});

it("says that something could not be read instead of showing it as empty, and reads it again", async () => {
  const answers = [Promise.reject(new Refusal(500, "internal", "The server failed.", null)), Promise.resolve("two")];
  const { container } = show(
    <WhenLoaded>
      <Answer name="rules" comes={() => answers.shift()!} />
    </WhenLoaded>,
  );
  const alert = await screen.findByRole("alert");
  expect(alert.textContent).toContain("could not be read");
  expect(container.querySelector(".invisible")).not.toBeNull();
  await act(async () => within(alert).getByRole("button", { name: "Try again" }).click());
  await waitFor(() => expect(container.querySelector(".invisible")).toBeNull());
  expect(screen.queryByRole("alert")).toBeNull();
  expect(container.textContent).toContain("rules two");
});

it("shows the rest where the server refuses a part to this person", async () => {
  const refused = Promise.reject(new Refusal(403, "forbidden", "Not for viewers.", null));
  const { container } = show(
    <WhenLoaded>
      <Answer name="people" comes={() => refused} />
    </WhenLoaded>,
  );
  await waitFor(() => expect(container.querySelector(".invisible")).toBeNull());
  expect(screen.queryByRole("alert")).toBeNull();
});

it("shows what asks for nothing at once", async () => {
  const { container } = show(<WhenLoaded>here</WhenLoaded>);
  await waitFor(() => expect(container.querySelector(".invisible")).toBeNull());
});
