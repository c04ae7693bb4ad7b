// Who this browser is signed in as, and what they may do. Until the server has said it, the page offers everything.
import { type QueryClient, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import type { components } from "../wire/api.gen";
import { api, given } from "../wire/client";
import { onForbidden } from "../wire/forbidden";
import { type Operation, REQUIRED, type Scope } from "../wire/scopes";

type SignedIn = components["schemas"]["SignedInResponse"];
export type AccessLevel = SignedIn["access"];

export const ME = ["session"];

export interface Me {
  id: string;
  name: string;
  access: AccessLevel;
  owner: boolean;
  /** Whether this browser's sign-in was confirmed; until then it manages nothing. */
  confirmed: boolean;
  /** Whether the server has had people besides its owner. */
  shared: boolean;
  /** With which chats can be shared. */
  groups: readonly string[];
  may: (scope: Scope) => boolean;
}

export function useMe(): Me {
  const { data } = useQuery({
    queryKey: ME,
    queryFn: () => given(api.GET("/session")),
    staleTime: 5 * 60_000,
    retry: false,
  });
  return useMemo(() => (data?.scopes ? meOf(data) : OWNER), [data]);
}

/** Whether the server would let this person do it: what it would refuse is not offered. */
export function useMay(operation: Operation): boolean {
  return mayDo(useMe(), operation);
}

/** Pure. */
export function mayDo(me: Pick<Me, "may">, operation: Operation): boolean {
  return me.may(REQUIRED[operation]);
}

/** Whether the digits of its link let this browser manage. Pure. */
export function awaitsDigits({ confirmed, access }: Pick<Me, "confirmed" | "access">): boolean {
  return !confirmed && access === "admin";
}

/** Which of two texts a person reads about something that waits: it waits for them, or for others. */
export type Wording = <Words>(own: Words, readers: Words) => Words;

/** The one place that tells those who decide from those who only read. */
export function useWording(): Wording {
  const me = useMe();
  return useMemo(() => wordingFor(me), [me]);
}

/** Pure. */
export function wordingFor(me: Pick<Me, "may">): Wording {
  return (own, readers) => (me.may("decide") ? own : readers);
}

/** The same outside of components, of what the page knows so far. */
export function knownWording(queries: QueryClient): Wording {
  const data = queries.getQueryData<SignedIn>(ME);
  return wordingFor(data?.scopes ? meOf(data) : OWNER);
}

/** Asks the server once more who this is. */
export function readMe(queries: QueryClient): void {
  void queries.invalidateQueries({ queryKey: ME });
}

/** Asks again after each refusal for lack of access, until the returned function is called. */
export function followMe(queries: QueryClient): () => void {
  return onForbidden(() => readMe(queries));
}

export function meOf({ scopes, confirmed, groups = [], ...known }: SignedIn): Me {
  return { ...known, groups, confirmed: confirmed !== false, may: (scope) => scopes.includes(scope) };
}

const OWNER: Me = {
  id: "",
  groups: [],
  name: "",
  access: "admin",
  owner: true,
  confirmed: true,
  shared: false,
  may: () => true,
};
