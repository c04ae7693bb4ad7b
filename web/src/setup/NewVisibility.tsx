// Who sees what people start, until they share it: a setting of the server.
import { useQueryClient } from "@tanstack/react-query";
import { wordsOf } from "../content/VisibilityDialog";
import * as acts from "../state/acts";
import { useSettings } from "../state/queries";
import { t } from "../texts/people";
import { INPUT } from "../ui/Field";
import { useRefusal } from "../ui/refusal";

const CHOICES = ["private", "everyone"] as const;

export function NewVisibility() {
  const { data: settings } = useSettings();
  const queries = useQueryClient();
  const [attempt, refusal] = useRefusal();
  if (!settings) return null;
  const choose = async (visibility: string) => {
    if (await attempt(acts.changeSettings({ new_visibility: visibility || null })))
      await queries.invalidateQueries({ queryKey: ["settings"] });
  };
  return (
    <div className="space-y-2 rounded-2xl border border-line bg-surface p-4 text-sm">
      <label className="flex flex-wrap items-center gap-3">
        <span className="flex-1 basis-72">{t.newVisibility}</span>
        <select
          value={String(settings["new_visibility"] ?? "")}
          onChange={({ target }) => void choose(target.value)}
          className={`${INPUT} !w-auto`}
        >
          <option value="">{t.newVisibilityDefault}</option>
          {CHOICES.map((choice) => (
            <option key={choice} value={choice}>
              {wordsOf(choice)}
            </option>
          ))}
        </select>
      </label>
      <p className="text-ink-3">{t.newVisibilityNote}</p>
      {refusal}
    </div>
  );
}
