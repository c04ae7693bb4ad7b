import { CopyPlus, Eye, Pencil, Trash2 } from "lucide-react";
import { t } from "../texts/definitions";
import { IconButton } from "../ui/Button";

interface Props {
  title: string;
  own: boolean;
  onOpen: () => void;
  onDuplicate: () => void;
  onDelete: () => void;
}

/** What can be done with a role or a workflow. Only a person's own can be changed and deleted. */
export function RowButtons({ title, own, onOpen, onDuplicate, onDelete }: Props) {
  return (
    <span className="-my-1.5 -mr-2 flex shrink-0 items-center self-start">
      <IconButton label={own ? t.edit(title) : t.view(title)} onClick={onOpen}>
        {own ? <Pencil size={15} aria-hidden /> : <Eye size={15} aria-hidden />}
      </IconButton>
      <IconButton label={t.duplicate(title)} onClick={onDuplicate}>
        <CopyPlus size={15} aria-hidden />
      </IconButton>
      {own && (
        <IconButton label={t.remove(title)} onClick={onDelete} className="hover:!text-bad">
          <Trash2 size={15} aria-hidden />
        </IconButton>
      )}
    </span>
  );
}
