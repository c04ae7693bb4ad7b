// Shows the composer with functions that record what it was asked to do.
import { screen } from "@testing-library/react";
import type { ComponentProps } from "react";
import { vi } from "vitest";
import { Composer } from "../chat/Composer";
import { show } from "./render";

type Props = ComponentProps<typeof Composer>;

export function composer(props: Partial<Props> = {}) {
  const acts = {
    onSend: vi.fn<Props["onSend"]>(() => Promise.resolve(true)),
    onQueue: vi.fn<Props["onQueue"]>(() => Promise.resolve(true)),
    onStop: vi.fn(),
    onCommand: vi.fn<Props["onCommand"]>(() => true),
  };
  const shown = show(
    <Composer chatId="chat" state="idle" placeholder="Message…" sent={[]} images={false} {...acts} {...props} />,
  );
  return { ...shown, ...acts, field: screen.getByLabelText<HTMLTextAreaElement>("Message") };
}
