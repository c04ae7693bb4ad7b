// What stands ready to be sent, small, each to be taken away again. Drawn on a canvas: the page loads images from its server alone.

import { X } from "lucide-react";
import { useEffect, useRef } from "react";
import { t } from "../texts/chat";
import type { Attached } from "./attached";

export function AttachedImages({ images, onRemove }: { images: readonly Attached[]; onRemove: (key: string) => void }) {
  if (images.length === 0) return null;
  return (
    <ul aria-label={t.imagesToSend} className="flex flex-wrap gap-2 px-1 pb-2 thumb:gap-4 thumb:pt-2.5">
      {images.map(({ key, name, file }) => (
        <li key={key} className="relative">
          <Thumbnail file={file} label={name || t.pastedImage} />
          <button
            type="button"
            aria-label={t.removeImage(name)}
            onClick={() => onRemove(key)}
            className="absolute -top-1.5 -right-1.5 inline-flex size-6 thumb:-top-2.5 thumb:-right-2.5 thumb:size-11 items-center justify-center rounded-full border border-line-strong bg-surface text-ink-2 shadow-sm hover:text-bad"
          >
            <X size={13} aria-hidden />
          </button>
        </li>
      ))}
    </ul>
  );
}

const SIDE = 64;

function Thumbnail({ file, label }: { file: Blob; label: string }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    let here = true;
    if (typeof createImageBitmap === "undefined") return;
    void createImageBitmap(file, { resizeHeight: SIDE * 2, resizeQuality: "medium" }).then(
      (bitmap) => {
        if (here) drawn(canvas.current, bitmap);
        bitmap.close();
      },
      () => {}, // what cannot be drawn keeps its name, and the server says what is wrong with it
    );
    return () => {
      here = false;
    };
  }, [file]);
  return (
    <canvas
      ref={canvas}
      role="img"
      aria-label={label}
      title={label}
      width={SIDE * 2}
      height={SIDE * 2}
      className="size-16 rounded-lg border border-line bg-sunken"
    />
  );
}

/** Its middle, as large as fits. */
function drawn(canvas: HTMLCanvasElement | null, bitmap: ImageBitmap): void {
  const side = Math.min(bitmap.width, bitmap.height);
  canvas
    ?.getContext("2d")
    ?.drawImage(
      bitmap,
      (bitmap.width - side) / 2,
      (bitmap.height - side) / 2,
      side,
      side,
      0,
      0,
      canvas.width,
      canvas.height,
    );
}
