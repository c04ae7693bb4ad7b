// A model server that failed and is asked again, in words.
import type { ModelRetry } from "../state/reduce";
import { t } from "../texts/ui";

const FAULTS: Readonly<Record<string, (status: string) => string>> = {
  provider_rate_limited: t.modelServerIsBusy,
  provider_overloaded: t.modelServerCouldNotAnswer,
  provider_unreachable: t.modelServerCannotBeReached,
};

/** Says why, when and how often; `seconds` are those that are left. */
export function retryWords({ reason, status, attempt, tries }: ModelRetry, seconds: number): string {
  const fault = (FAULTS[reason] ?? t.modelServerFailed)(status === null ? "" : ` (${status})`);
  return `${fault} ${t.tryingAgain(Math.ceil(seconds), attempt, tries)}`;
}
