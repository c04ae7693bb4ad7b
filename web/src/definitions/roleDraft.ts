// A role as a form holds it, and what the server does with it.
import type { components } from "../wire/api.gen";
import { api, given } from "../wire/client";

export type RolePage = components["schemas"]["RolePage"];
export type RoleValues = Omit<RolePage, "built_in">;

export const PERMISSIONS = [
  "read_files",
  "write_files",
  "create_files",
  "delete_files",
  "execute_commands",
] as const satisfies readonly RolePage["permissions"][number][];
export const OUTPUTS = ["text", "plan", "review"] as const satisfies readonly RolePage["output"][];
export const COLOURS = ["grey", "blue", "green", "purple", "pink", "amber", "teal", "red"];

export const EMPTY: RoleValues = {
  name: "",
  tooltip: "",
  permissions: ["read_files"],
  output: "text",
  delegates: [],
  colour: "grey",
  icon: "person",
  prompt: "",
};

export function readRole(name: string): Promise<RolePage> {
  return given(api.GET("/roles/{name}", { params: { path: { name } } }));
}

/** What is wrong with each field. */
export async function checkRole(draft: RoleValues): Promise<Record<string, string>> {
  const { faults } = await given(api.POST("/roles/validate", { body: draft as never }));
  return Object.fromEntries(faults.map(({ param, message }) => [param, message]));
}

export function saveRole({ name, ...draft }: RoleValues, isNew: boolean): Promise<RolePage> {
  if (isNew) return given(api.POST("/roles", { body: { name, ...draft } as never }));
  return given(api.PUT("/roles/{name}", { params: { path: { name } }, body: draft as never }));
}

export function deleteRole(name: string): Promise<unknown> {
  return given(api.DELETE("/roles/{name}", { params: { path: { name } } }));
}
