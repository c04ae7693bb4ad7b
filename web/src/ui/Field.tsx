import { cloneElement, isValidElement, type ReactElement, type ReactNode, useId } from "react";

export const INPUT =
  "min-h-9 thumb:min-h-11 w-full min-w-0 rounded-lg border border-line-strong bg-paper px-3 text-sm placeholder:text-ink-3 aria-invalid:border-bad";

/** For what a machine reads, as a path, an address, a command or a name: no keyboard capitalises, corrects or completes it. */
export const VERBATIM = { autoCapitalize: "none", autoCorrect: "off", autoComplete: "off", spellCheck: false } as const;

interface FieldProps {
  label: string;
  hint?: string | undefined;
  /** What is wrong with it, said below it and by its input. */
  fault?: string | undefined;
  children: ReactNode;
}

/** A name above its input, with a word about what belongs there. */
export function Field({ label, hint, fault, children }: FieldProps) {
  const id = useId();
  const described = { "aria-invalid": true, "aria-describedby": id };
  return (
    <div className="min-w-0 text-sm">
      <label className="block">
        <span className="font-medium">{label}</span> {hint && <span className="text-ink-3">{hint}</span>}
        <span className="mt-1 block">
          {fault && isValidElement(children) ? cloneElement(children as ReactElement<object>, described) : children}
        </span>
      </label>
      <p id={id} aria-live="polite" className="mt-1 break-words text-bad empty:hidden">
        {fault}
      </p>
    </div>
  );
}

interface CheckboxProps {
  label: string;
  /** What it is called where the label alone does not say. */
  name?: string;
  on: boolean;
  onTurn: (on: boolean) => void;
}

export function Checkbox({ label, name, on, onTurn }: CheckboxProps) {
  return (
    <label className="inline-flex min-h-9 items-center gap-2 text-sm thumb:min-h-11">
      <input type="checkbox" aria-label={name} checked={on} onChange={({ target }) => onTurn(target.checked)} />
      {label}
    </label>
  );
}
