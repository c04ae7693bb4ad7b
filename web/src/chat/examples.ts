// First requests that are known to work: plain ones for the guide, which understands nothing else, and freer ones for a model.

const GUIDE: Record<string, readonly string[]> = {
  planner: ['Plan: create hello.txt with "Hello!" then run `cat hello.txt`', "List the files"],
  actor: ['Create hello.txt with "Hello!"', "List the files"],
  reviewer: ["Review welcome.txt", "Search for TODO"],
  tester: ["Run `ls -l`"],
  designer: ['Create ideas.md with "# Ideas"'],
};

const MODEL: Record<string, readonly string[]> = {
  planner: ["Look around and plan how to tidy this folder", "Plan the next sensible step for this project"],
  actor: ["Explain what is in this folder", "Find the TODOs and fix the smallest one"],
  reviewer: ["Review the newest changes"],
  tester: ["Run the tests and tell me what fails"],
  designer: ["Draft a README for this project"],
  commander: ["Split this project's open work into tasks"],
};

export function examplesFor(role: string, guide: boolean): readonly string[] {
  const known = guide ? GUIDE : MODEL;
  return known[role] ?? (role === "commander" ? known["planner"] : known["actor"]) ?? [];
}
