// One parameter as the field that suits its type, with its help below and what is wrong with it.

import { useId } from "react";
import { t } from "../texts/workflows";
import { wantsFocus } from "../ui/Dialog";
import { INPUT, VERBATIM } from "../ui/Field";
import type { Parameter } from "../wire/nouns";

interface Props {
  parameter: Parameter;
  value: string | boolean;
  fault: string | null;
  first: boolean;
  onChange: (value: string | boolean) => void;
}

export function ParameterField({ parameter, value, fault, first, onChange }: Props) {
  const id = useId();
  const { name, required, description } = parameter;
  const about = [description && `${id}-help`, fault && `${id}-fault`].filter(Boolean).join(" ");
  const parts = {
    id,
    "aria-invalid": fault !== null,
    "aria-describedby": about || undefined,
    autoFocus: first,
    ref: first ? wantsFocus : null,
  };
  const isSwitch = parameter.type === "boolean" && !parameter.choices;
  return (
    <div className="min-w-0 text-sm">
      <div className={isSwitch ? "flex items-center gap-2" : ""}>
        {isSwitch && (
          <input
            {...parts}
            type="checkbox"
            checked={value === true}
            onChange={({ target }) => onChange(target.checked)}
          />
        )}
        <label htmlFor={id} className="font-medium">
          {name.replaceAll("_", " ")}
          {required && !isSwitch && (
            <span aria-hidden className="text-bad">
              {" "}
              *
            </span>
          )}
        </label>
      </div>
      {!isSwitch && <div className="mt-1">{input(parameter, String(value), parts, onChange)}</div>}
      {description && (
        <p id={`${id}-help`} className="mt-1 text-xs break-words text-ink-3">
          {description}
        </p>
      )}
      {fault && (
        <p id={`${id}-fault`} className="mt-1 text-sm break-words text-bad">
          {t.it(fault)}
        </p>
      )}
    </div>
  );
}

function input(
  { type, choices, required, default: given }: Parameter,
  value: string,
  parts: object,
  onChange: (value: string) => void,
) {
  if (choices)
    return (
      <select
        {...parts}
        aria-required={required}
        value={value}
        onChange={({ target }) => onChange(target.value)}
        className={INPUT}
      >
        {(value === "" || (!required && given == null)) && <option value="">{required ? t.choose : "none"}</option>}
        {choices.map((choice) => (
          <option key={String(choice)}>{String(choice)}</option>
        ))}
      </select>
    );
  const isNumber = type === "integer" || type === "number";
  return (
    <input
      {...parts}
      aria-required={required}
      inputMode={isNumber ? "decimal" : "text"}
      {...(type === "string" ? { autoComplete: "off" } : VERBATIM)}
      placeholder={type === "path" ? t.aFileOrFolder : undefined}
      value={value}
      onChange={({ target }) => onChange(target.value)}
      className={type === "path" ? `${INPUT} font-mono` : INPUT}
    />
  );
}
