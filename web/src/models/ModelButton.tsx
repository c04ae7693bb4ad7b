import { Cpu } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { useProviders } from "../state/queries";
import { t } from "../texts/models";
import { defaultModel, shownModel } from "./choices";

export const ModelPicker = lazy(() => import("./ModelPicker"));

interface Props {
  /** null: the default one answers. */
  model: string | null;
  onChoose: (model: string) => void;
  /** Its name is shown beside the sign however little room there is. */
  named?: boolean;
}

export function ModelButton({ model, onChoose, named = false }: Props) {
  const { data: providers = [] } = useProviders();
  const [open, setOpen] = useState(false);
  const current = model ?? defaultModel(providers);
  const shown = shownModel(current);
  return (
    <>
      <button
        type="button"
        aria-haspopup="dialog"
        aria-label={t.model(shown)}
        title={t.model(shown)}
        onClick={() => setOpen(true)}
        className="inline-flex min-h-9 max-w-56 min-w-0 items-center gap-1.5 rounded-lg px-2 text-sm text-ink-2 hover:bg-sunken thumb:min-h-11"
      >
        <Cpu size={16} aria-hidden className="shrink-0" />
        <span className={named ? "truncate" : "hidden truncate @2xl:inline"}>{shown}</span>
      </button>
      <Suspense fallback={null}>
        {open && <ModelPicker model={current} onChoose={onChoose} onClose={() => setOpen(false)} />}
      </Suspense>
    </>
  );
}
