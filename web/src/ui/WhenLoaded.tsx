// A part of the page that is shown whole: what arrives piece by piece moves the button that somebody is about to press.

import { type Query, useQueryClient } from "@tanstack/react-query";
import clsx from "clsx";
import { type ReactNode, useEffect, useState } from "react";
import { t } from "../texts/app";

/** Its children are hidden until each first answer has come or failed. Once they are shown, they stay. */
export function WhenLoaded({ className, children }: { className?: string; children: ReactNode }) {
  const queries = useQueryClient();
  const [shown, setShown] = useState(false);
  useEffect(() => {
    if (shown) return;
    const look = () => queries.isFetching({ predicate: isFirst }) === 0 && setShown(true);
    look(); // the effects of the children ran before: what they ask for is on its way by now
    return queries.getQueryCache().subscribe(look);
  }, [queries, shown]);
  return (
    <div className="relative" aria-busy={!shown}>
      {!shown && (
        <p role="status" className="late absolute text-sm text-ink-3">
          {t.loading}
        </p>
      )}
      <div className={clsx(className, !shown && "invisible")}>{children}</div>
    </div>
  );
}

function isFirst({ state }: Query): boolean {
  return state.status === "pending";
}
