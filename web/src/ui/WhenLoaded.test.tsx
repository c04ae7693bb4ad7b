import { useQuery } from "@tanstack/react-query";
import { act, screen, waitFor } from "@testing-library/react";
import { expect, it } from "vitest";
import { show } from "../testing/render";
import { WhenLoaded } from "./WhenLoaded";

function Answer({ name, comes }: { name: string; comes: Promise<string> }) {
  const { data } = useQuery({ queryKey: [name], queryFn: () => comes, retry: false });
  return <button type="button">{`${name} ${data ?? "?"}`}</button>;
}

function held() {
  let resolve!: (text: string) => void;
  let reject!: (error: Error) => void;
  const promise = new Promise<string>((good, bad) => ([resolve, reject] = [good, bad]));
  return { promise, resolve, reject };
}

it("shows its parts together, when the last of them has its answer or will get none", async () => {
  const first = held();
  const second = held();
  const { container } = show(
    <WhenLoaded>
      <Answer name="first" comes={first.promise} />
      <Answer name="second" comes={second.promise} />
    </WhenLoaded>,
  );
  const hidden = () => container.querySelector(".invisible");
  expect(screen.getByRole("status").textContent).toBe("Loading…");
  await act(async () => first.resolve("here"));
  await waitFor(() => expect(container.textContent).toContain("first here"));
  expect(hidden()).not.toBeNull();
  await act(async () => second.reject(new Error("no answer")));
  await waitFor(() => expect(hidden()).toBeNull());
  expect(screen.queryByRole("status")).toBeNull();
});

it("shows what asks for nothing at once", async () => {
  const { container } = show(<WhenLoaded>here</WhenLoaded>);
  await waitFor(() => expect(container.querySelector(".invisible")).toBeNull());
});
