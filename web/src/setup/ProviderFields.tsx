// The fields that a new connection and a changed one share.
import { t } from "../texts/settings";
import { TextField } from "../ui/Form";

interface Props {
  value: string;
  onChange: (value: string) => void;
}

export function AddressField(props: Props) {
  return (
    <TextField
      label={t.address}
      hint={t.ofAnOpenaiCompatibleServer}
      required
      type="url"
      placeholder="http://127.0.0.1:8000/v1"
      {...props}
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

/** Names with commas between them. Pure. */
export function namesIn(text: string): string[] {
  return text
    .split(",")
    .map((name) => name.trim())
    .filter(Boolean);
}
