// Forms: the frame, a text field with its name, and the buttons at the end.
import clsx from "clsx";
import type { ComponentProps, ReactNode } from "react";
import { Button } from "./Button";
import { Field, INPUT, VERBATIM } from "./Field";

interface FormProps {
  label?: string;
  onSubmit: () => void;
  className?: string;
  children: ReactNode;
}

/** Submitting does not leave the page. */
export function Form({ label, onSubmit, className, children }: FormProps) {
  return (
    <form
      aria-label={label}
      className={className ?? "space-y-3 rounded-2xl border border-line bg-surface p-4"}
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit();
      }}
    >
      {children}
    </form>
  );
}

interface TextFieldProps extends Omit<ComponentProps<"input">, "onChange"> {
  label: string;
  hint?: string;
  fault?: string | undefined;
  onChange: (value: string) => void;
}

/** For what a machine reads. */
export function TextField({ label, hint, fault, onChange, className, ...input }: TextFieldProps) {
  return (
    <Field label={label} hint={hint} fault={fault}>
      <input
        {...VERBATIM}
        {...input}
        onChange={({ target }) => onChange(target.value)}
        className={clsx(INPUT, "font-mono", className)}
      />
    </Field>
  );
}

interface ButtonsProps {
  submit: string;
  disabled?: boolean | undefined;
  cancel: string;
  onCancel: () => void;
  /** Other buttons, between the two. */
  children?: ReactNode;
}

export function FormButtons({ submit, disabled = false, cancel, onCancel, children }: ButtonsProps) {
  return (
    <div className="flex flex-wrap gap-2 pt-1">
      <Button look="primary" type="submit" disabled={disabled}>
        {submit}
      </Button>
      {children}
      <Button look="quiet" onClick={onCancel}>
        {cancel}
      </Button>
    </div>
  );
}
