import { screen } from "@testing-library/react";
import { afterEach, expect, it, vi } from "vitest";
import { expectAccessible, show } from "../testing/render";
import { SignIn } from "./SignIn";

afterEach(() => vi.unstubAllGlobals());

function serverWith(name: string | null) {
  const answer = () => Promise.resolve(Response.json({ name }));
  vi.stubGlobal("fetch", vi.fn(answer));
}

// proves OPS-5/1
it("offers the sign-on of the server, and the token still", async () => {
  serverWith("Acme");
  const { container } = show(<SignIn />);
  const link = await screen.findByRole("link", { name: "Sign in with Acme" });
  expect(link.getAttribute("href")).toBe("/openid/sign-in");
  expect(screen.getByRole("button", { name: "Sign in" })).toBeTruthy();
  const between = screen.getByText("or");
  expect(link.compareDocumentPosition(between)).toBe(Node.DOCUMENT_POSITION_FOLLOWING);
  expect(between.compareDocumentPosition(screen.getByLabelText(/Paste your token/))).toBe(
    Node.DOCUMENT_POSITION_FOLLOWING,
  );
  await expectAccessible(container);
});

// proves OPS-5/4
it("asks for the token alone where nothing is set up", async () => {
  serverWith(null);
  show(<SignIn />);
  await vi.waitFor(() => expect(fetch).toHaveBeenCalled());
  expect(screen.queryByRole("link")).toBeNull();
  expect(screen.queryByText("or")).toBeNull();
});
