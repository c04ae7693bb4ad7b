import { WifiOff } from "lucide-react";
import { t } from "../texts/ui";
import type { StreamStatus } from "../wire/stream";

/** Said across the page while the server cannot be heard. What is typed is kept. */
export function Banner({ connection }: { connection: StreamStatus }) {
  if (connection !== "reconnecting") return null;
  return (
    <p role="status" className="flex items-center justify-center gap-2 bg-warn-soft px-4 py-1.5 text-sm text-warn">
      <WifiOff size={15} aria-hidden />
      {navigator.onLine ? t.theServerDoesNotAnswer : t.thisDeviceHasNoNetwork} {t.reconnecting}
    </p>
  );
}
