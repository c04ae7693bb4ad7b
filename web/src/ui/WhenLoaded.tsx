// A part of the page that is shown whole: what arrives piece by piece moves the button that somebody is about to press.

import { type Query, type QueryClient, useQueryClient } from "@tanstack/react-query";
import clsx from "clsx";
import { type ReactNode, useEffect, useState } from "react";
import { t } from "../texts/app";
import { Refusal } from "../wire/client";
import { Button } from "./Button";

type State = "loading" | "failed" | "shown";

/** Its children are hidden until each first answer has come. A list that could not be read is not shown as an empty one. Once they are shown, they stay. */
export function WhenLoaded({ className, children }: { className?: string; children: ReactNode }) {
  const queries = useQueryClient();
  const [state, setState] = useState<State>("loading");
  useEffect(() => {
    if (state === "shown") return;
    const look = () => setState(stateOf(queries));
    look(); // the effects of the children ran before: what they ask for is on its way by now
    return queries.getQueryCache().subscribe(look);
  }, [queries, state]);
  return (
    <div className="relative" aria-busy={state === "loading"}>
      {state === "loading" && (
        <p role="status" className="late absolute text-sm text-ink-3">
          {t.loading}
        </p>
      )}
      {state === "failed" && (
        <div role="alert" className="absolute inset-x-0 py-6 text-sm">
          <p className="text-ink-2">{t.couldNotBeRead}</p>
          <Button className="mt-3" onClick={() => void queries.refetchQueries({ predicate: isUnread })}>
            {t.tryAgain}
          </Button>
        </div>
      )}
      <div className={clsx(className, state !== "shown" && "invisible")}>{children}</div>
    </div>
  );
}

function stateOf(queries: QueryClient): State {
  if (queries.isFetching({ predicate: isFirst }) > 0) return "loading";
  return queries.getQueryCache().findAll({ type: "active", predicate: isUnread }).length > 0 ? "failed" : "shown";
}

function isFirst({ state }: Query): boolean {
  return state.status === "pending";
}

/** Whether nobody knows what is there. What the server refuses to tell this person is left out by the part that asked. */
function isUnread({ state, meta }: Query): boolean {
  const isRefused = state.error instanceof Refusal && state.error.status >= 400 && state.error.status < 500;
  return state.status === "error" && state.data === undefined && !isRefused && !meta?.["saysItself"];
}
