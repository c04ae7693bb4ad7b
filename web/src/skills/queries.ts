// What the server lists of skills and hooks, in the folder that the person looks at.
import { useQuery } from "@tanstack/react-query";
import { create } from "zustand";
import { useSettings, useWorkspaces } from "../state/queries";
import type { components } from "../wire/api.gen";
import { api, given } from "../wire/client";
import { text } from "../wire/nouns";

export type Skill = components["schemas"]["SkillResponse"];
export type Plugin = components["schemas"]["InstalledPluginResponse"];
export type LeftOut = components["schemas"]["LeftOutResponse"];
export type ReadFile = components["schemas"]["SkillFileResponse"];
export type HookFile = components["schemas"]["HookFileResponse"];
export type Hook = components["schemas"]["HookResponse"];

/** Both lists of the page are of one folder. */
const useChosen = create<{ root: string | null }>(() => ({ root: null }));

/** The folder that is looked at, once it is known: the one of new chats until another is chosen. */
export function useFolder(): { root: string | undefined; roots: readonly string[]; choose: (root: string) => void } {
  const { data: workspaces = [] } = useWorkspaces();
  const { data: settings } = useSettings();
  const chosen = useChosen(({ root }) => root);
  const roots = workspaces.map(({ root }) => root);
  const usual = settings && (text(settings["workspace"]) || roots[0]);
  return {
    root: chosen && roots.includes(chosen) ? chosen : usual,
    roots,
    choose: (root) => useChosen.setState({ root }),
  };
}

export const SKILLS = ["skills"];

/** The files change under the page. */
export function useSkills(workspace: string | undefined) {
  return useQuery({
    queryKey: [...SKILLS, workspace],
    queryFn: async () => (await given(api.GET("/skills", { params: { query: folder(workspace) } }))).skills,
    staleTime: 0,
    enabled: workspace !== undefined,
  });
}

/** Of this content: after a change of any file there is nothing to be read before it is asked for again. */
export function useSkillPage(workspace: string | undefined, { name, sha256 }: Skill) {
  return useQuery({
    queryKey: ["skill", workspace, name, sha256],
    queryFn: () => given(api.GET("/skills/{name}", { params: { path: { name }, query: folder(workspace) } })),
  });
}

export const PLUGINS = ["plugins"];

export function usePlugins() {
  return useQuery({
    queryKey: PLUGINS,
    queryFn: async () => (await given(api.GET("/plugins", {}))).plugins,
    staleTime: 0,
  });
}

/** With the files that its hooks may use, of this content. */
export function usePluginPage(name: string, sha256: string) {
  return useQuery({
    queryKey: ["plugin", name, sha256],
    queryFn: () => given(api.GET("/plugins/{name}", { params: { path: { name } } })),
  });
}

export function trustPlugin(name: string, hash: string | null): Promise<unknown> {
  return given(api.POST("/plugins/{name}/trust", { params: { path: { name } }, body: { hash } }));
}

export function useHooks(workspace: string | undefined) {
  return useQuery({
    queryKey: ["hooks", workspace],
    queryFn: async () => (await given(api.GET("/hooks", { params: { query: folder(workspace) } }))).files,
    staleTime: 0,
    enabled: workspace !== undefined,
  });
}

export function trustSkill(name: string, hash: string | null, workspace: string | undefined): Promise<unknown> {
  return given(api.POST("/skills/{name}/trust", { params: { path: { name } }, body: { hash, ...folder(workspace) } }));
}

/** What was added, and which plugins of a marketplace were not. */
export async function addSkill(path: string): Promise<{ name: string; leftOut: readonly LeftOut[] }> {
  const added = await given(api.POST("/skills", { body: { path } }));
  return { name: added.name, leftOut: "plugins" in added ? added.problems : [] };
}

export function removeSkill(name: string): Promise<unknown> {
  return given(api.DELETE("/skills/{name}", { params: { path: { name } } }));
}

function folder(workspace: string | undefined): { workspace?: string } {
  return workspace ? { workspace } : {};
}
