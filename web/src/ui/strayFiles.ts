// A file that is dropped beside the message would replace the page by itself: it is held, and said where it belongs.
import { t } from "../texts/ui";
import { say } from "./outcomes";

/** From now on; call what is returned to let go. Whoever takes a dropped file stops its default before. */
export function holdStrayFiles(): () => void {
  const over = (event: DragEvent) => hasFiles(event) && event.preventDefault();
  const drop = (event: DragEvent) => {
    if (!hasFiles(event) || event.defaultPrevented) return;
    event.preventDefault();
    say(t.imagesAreDroppedOnThe, "problem");
  };
  window.addEventListener("dragover", over);
  window.addEventListener("drop", drop);
  return () => {
    window.removeEventListener("dragover", over);
    window.removeEventListener("drop", drop);
  };
}

function hasFiles(event: DragEvent): boolean {
  return event.dataTransfer?.types.includes("Files") ?? false;
}
