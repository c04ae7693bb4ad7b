import { act, fireEvent, screen } from "@testing-library/react";
import { expect, it, vi } from "vitest";
import { show } from "../testing/render";
import { useSending } from "./sending";

it("sends once what is pressed twice, and again once the answer is there", async () => {
  let answered = () => {};
  const wish = vi.fn(() => new Promise<void>((resolve) => (answered = resolve)));
  const Pressed = () => {
    const [sending, send] = useSending();
    return (
      <button type="button" onClick={() => void send("plan", wish)}>
        {sending ?? "rests"}
      </button>
    );
  };
  show(<Pressed />);
  const button = screen.getByRole("button");
  fireEvent.click(button);
  fireEvent.click(button);
  expect(wish).toHaveBeenCalledOnce();
  expect(button.textContent).toBe("plan");
  await act(async () => answered());
  expect(button.textContent).toBe("rests");
  fireEvent.click(button);
  expect(wish).toHaveBeenCalledTimes(2);
});
