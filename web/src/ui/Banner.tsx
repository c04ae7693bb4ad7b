import { WifiOff } from "lucide-react";
import { t } from "../texts/ui";
import type { StreamStatus } from "../wire/stream";

/** Said below the header while the server cannot be heard. It lies over the page and lets presses through: nothing that one is
 * about to press moves or is covered for long. What is typed is kept. */
export function Banner({ connection }: { connection: StreamStatus }) {
  if (connection !== "reconnecting") return null;
  return (
    <p
      role="status"
      className="pointer-events-none absolute inset-x-0 top-14 z-10 mx-auto flex w-fit max-w-full items-center justify-center gap-2 rounded-b-xl bg-warn-soft px-4 py-1.5 text-sm text-warn shadow-sm"
    >
      <WifiOff size={15} aria-hidden />
      {navigator.onLine ? t.theServerDoesNotAnswer : t.thisDeviceHasNoNetwork} {t.reconnecting}
    </p>
  );
}
