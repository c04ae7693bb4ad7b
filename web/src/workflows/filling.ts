// A form's values: what a field begins with, and what is sent. The server reads text as the parameter's type and tells every fault. Pure.
import type { Parameter } from "../wire/nouns";

type Values = Readonly<Record<string, string | boolean>>;

export function begun(parameters: readonly Parameter[]): Values {
  return Object.fromEntries(parameters.map((parameter) => [parameter.name, first(parameter)]));
}

/** Without what was left empty: then its default holds, or the server says that it is missing. */
export function filled(values: Values): Record<string, string | boolean> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ""));
}

function first({ type, default: given, choices }: Parameter): string | boolean {
  if (type === "boolean" && !choices) return given === true;
  return given == null ? "" : String(given);
}
