// The fields that a new connection and a changed one share.
import { t } from "../texts/settings";
import { Field, INPUT } from "../ui/Field";
import { TextField } from "../ui/Form";
import type { Privacy } from "../wire/nouns";

interface Props {
  value: string;
  onChange: (value: string) => void;
  fault?: string | undefined;
}

/** Where the form shows what is wrong with a parameter of a connection. */
export const CONNECTION_FIELDS = { name: "name", base_url: "address", api_key: "key", models: "models" };

export function AddressField(props: Props) {
  return (
    <TextField
      label={t.address}
      hint={t.ofAnOpenaiCompatibleServer}
      required
      inputMode="url"
      autoComplete="off"
      placeholder="http://127.0.0.1:8000/v1"
      {...props}
      onBlur={() => props.onChange(addressIn(props.value))}
    />
  );
}

/** A key is never shown: neither what is typed nor what is stored. */
export function KeyField(props: Props & { label: string; hint: string; required?: boolean }) {
  return <TextField type="password" autoComplete="off" {...props} />;
}

export function ModelsField(props: Props) {
  return <TextField label={t.models2} hint={t.withCommasEmptyAsksThe} {...props} />;
}

/** From the fewest to the most. */
const PRIVACY_CLASSES = ["local", "company", "anyone"] as const;

/** No request goes on with a model whose server more people see into. */
export function PrivacyField({ value, onChange }: { value: Privacy; onChange: (value: Privacy) => void }) {
  return (
    <Field label={t.whoSeesWhatIsSent} hint={t.noRequestGoesOnElsewhere}>
      <select
        className={INPUT}
        value={value}
        onChange={({ target }) => onChange(PRIVACY_CLASSES.find((name) => name === target.value) ?? value)}
      >
        {PRIVACY_CLASSES.map((name) => (
          <option key={name} value={name}>
            {t.privacyClasses[name]}
          </option>
        ))}
      </select>
    </Field>
  );
}

/** Names with commas between them. Pure. */
export function namesIn(text: string): string[] {
  return text
    .split(",")
    .map((name) => name.trim())
    .filter(Boolean);
}

const THIS_MACHINE = /^(localhost|127\.|\[::1\]|10\.|192\.168\.)/i;

/** An address as it was typed or pasted, with the scheme that it left out. Pure. */
export function addressIn(text: string): string {
  const address = text.trim();
  if (!address || /^[a-z][a-z0-9+.-]*:\/\//i.test(address)) return address;
  return `${THIS_MACHINE.test(address) ? "http" : "https"}://${address}`;
}

/** A name as the server takes it: "Acme AI" is `acme-ai`. Pure. */
export function nameIn(text: string): string {
  return text
    .trim()
    .toLowerCase()
    .replace(/[^a-z0-9_.-]+/g, "-")
    .replace(/^[^a-z0-9]+|-+$/g, "");
}
