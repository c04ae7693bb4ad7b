// What the server refuses of a form is said in the form, beside what has to be changed. Toasts are for what happened elsewhere.
import { type ReactNode, useState } from "react";
import { t } from "../texts/ui";
import { Refusal } from "../wire/client";

type Faults = Readonly<Record<string, string>>;
type AttemptHere = (act: Promise<unknown>) => Promise<boolean>;

/** Runs what a form asks for. Its refusal comes as an element of the form, null if there is none, or as the fault of the field that
 * `fields` names for the parameter. */
export function useRefusal(
  fields: Readonly<Record<string, string>> = {},
): [attemptHere: AttemptHere, refusal: ReactNode, faultAt: (field: string) => string | undefined] {
  const [faults, setFaults] = useState<Faults>({});
  const attemptHere = async (act: Promise<unknown>) => {
    setFaults({});
    try {
      await act;
      return true;
    } catch (error) {
      setFaults(error instanceof Refusal ? faultsOf(error, fields) : { [WHOLE_FORM]: t.thatDidNotWorkAnd });
      return false;
    }
  };
  const words = faults[WHOLE_FORM];
  return [attemptHere, words ? <RefusalNote words={words} /> : null, (field) => faults[field]];
}

const WHOLE_FORM = "";

/** The refusal's words by field; what no field of the form has asked for belongs to the form. Pure. */
function faultsOf({ message, param, faults }: Refusal, fields: Readonly<Record<string, string>>): Faults {
  const fieldOf = (parameter: string) => fields[parameter.split(".", 1)[0]!];
  const told = Object.entries(faults).flatMap(([parameter, words]) => {
    const field = fieldOf(parameter);
    return field ? [[field, words] as const] : [];
  });
  if (told.length > 0) return Object.fromEntries(told);
  return { [(param && fieldOf(param)) || WHOLE_FORM]: message };
}

export function RefusalNote({ words }: { words: string }) {
  return (
    <p
      role="alert"
      ref={(node) => node?.scrollIntoView?.({ block: "nearest" })}
      className="text-sm break-words text-bad"
    >
      {words}
    </p>
  );
}
