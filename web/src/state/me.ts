// Who this browser is signed in as, and what they may do. Until the server has said it, the page offers everything.
import { useQuery } from "@tanstack/react-query";
import type { components } from "../wire/api.gen";
import { api, given } from "../wire/client";

type SignedIn = components["schemas"]["SignedInShape"];
export type AccessLevel = SignedIn["access"];
type Scope = "send" | "decide" | "manage";

export const ME = ["session"];

export interface Me {
  name: string;
  access: AccessLevel;
  owner: boolean;
  /** Whether the server has had people besides its owner. */
  shared: boolean;
  may: (scope: Scope) => boolean;
}

export function useMe(): Me {
  const { data } = useQuery({
    queryKey: ME,
    queryFn: () => given(api.GET("/session")),
    staleTime: 5 * 60_000,
    retry: false,
  });
  return data?.scopes ? meOf(data) : OWNER;
}

export function meOf({ name, access, owner, shared, scopes }: SignedIn): Me {
  return { name, access, owner, shared, may: (scope) => scopes.includes(scope) };
}

const OWNER: Me = { name: "", access: "admin", owner: true, shared: false, may: () => true };
