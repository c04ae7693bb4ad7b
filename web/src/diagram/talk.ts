// What the page and the frame in which a diagram is drawn say to each other. Neither believes the other: both check every word.

/** Page to frame: draw this. */
interface Order {
  draw: string;
  dark: boolean;
}

/** Frame to page: I listen; so tall it became; or why it could not be drawn. */
export type Report = { is: "ready" } | { is: "drawn"; height: number } | { is: "failed"; reason: string };

const TALLEST = 4_000;
const LONGEST_REASON = 300;

export function readOrder(value: unknown): Order | null {
  const { draw, dark } = loose(value);
  return typeof draw === "string" && typeof dark === "boolean" ? { draw, dark } : null;
}

export function readReport(value: unknown): Report | null {
  const { is, height, reason } = loose(value);
  if (is === "ready") return { is };
  if (is === "drawn" && typeof height === "number" && Number.isFinite(height))
    return { is, height: Math.min(TALLEST, Math.max(0, height)) };
  if (is === "failed") return { is, reason: typeof reason === "string" ? reason.slice(0, LONGEST_REASON) : "" };
  return null;
}

function loose(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}
