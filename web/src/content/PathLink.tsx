// A path as a way to the file itself. Where there is no way, it is only its words.
import clsx from "clsx";
import { FileText } from "lucide-react";
import type { ReactNode } from "react";
import { openFile, usePathInChat } from "../state/openFiles";
import { t } from "../texts/files";
import { IconButton } from "../ui/Button";
import { visible } from "./visible";

interface Props {
  path: string;
  line?: number | null;
  children: ReactNode;
  className?: string;
}

export function PathLink({ path, line = null, children, className }: Props) {
  const inside = usePathInChat(path);
  if (!inside) return children;
  return (
    <button
      type="button"
      title={t.openFile(visible(inside))}
      onClick={() => openFile(inside, line)}
      className={clsx(
        "max-w-full min-w-0 thumb:-my-1.5 thumb:py-1.5 rounded text-left underline decoration-line-strong decoration-dotted underline-offset-2 hover:decoration-solid",
        className,
      )}
    >
      {children}
    </button>
  );
}

/** For where the words already belong to another button. */
export function PathButton({ path }: { path: string }) {
  const inside = usePathInChat(path);
  if (!inside) return null;
  return (
    <IconButton label={t.openFile(visible(inside))} onClick={() => openFile(inside)} className="!size-8 thumb:!size-10">
      <FileText size={15} aria-hidden />
    </IconButton>
  );
}
