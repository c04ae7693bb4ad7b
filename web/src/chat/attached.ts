// What stands ready to be sent with the next message: images and text files, pasted, dropped or chosen. The server looks again at all of it.

import { type ClipboardEvent, type DragEvent, useState } from "react";
import type { SentImage } from "../state/acts";
import { t } from "../texts/chat";
import { unique } from "../wire/unique";
import { type AttachedText, readText } from "./attachedText";
import { base64 } from "./base64";

export interface Attached extends SentImage {
  key: string;
  file: Blob;
}

const KINDS: readonly string[] = ["image/png", "image/jpeg", "image/webp", "image/gif"];
const MOST_BYTES = 5 * 1024 * 1024;
const MOST_IN_ALL = 7 * 1024 * 1024; // a request takes 10 MB, and base64 adds a third
const MOST_IMAGES = 8;

/** Why this file cannot be sent beside those; null if it can. Pure. */
export function whyNotAttachable(
  file: { name: string; type: string; size: number },
  others: readonly { file: { size: number } }[],
): string | null {
  const name = file.name || t.thisImage;
  if (!KINDS.includes(file.type)) return t.isNoPngJpegWebp(name);
  if (file.size > MOST_BYTES) return t.hasMoreThan5Mb(name);
  if (others.length >= MOST_IMAGES) return t.aMessageTakesImages(MOST_IMAGES);
  const sum = others.reduce((bytes, other) => bytes + other.file.size, file.size);
  return sum > MOST_IN_ALL ? t.togetherTheseImagesAreToo : null;
}

export function useAttached(offered: boolean) {
  const [images, setImages] = useState<readonly Attached[]>([]);
  const [texts, setTexts] = useState<readonly AttachedText[]>([]);
  const [problems, setProblems] = useState<readonly string[]>([]); // why files were not taken the last time
  const refuse = (why: string) => setProblems((now) => [...now, why]);
  const add = async (files: readonly File[]) => {
    setProblems([]);
    await addImages(files.filter(isImage));
    await addTexts(files.filter((file) => !isImage(file)));
  };
  const addTexts = async (files: readonly File[]) => {
    let now = texts;
    for (const file of files) {
      const read = await readText(file, now);
      if (typeof read === "string") refuse(read);
      else now = [...now, read];
    }
    setTexts(now);
  };
  const addImages = async (files: readonly File[]) => {
    if (files.length > 0 && !offered) return refuse(t.theModelThatAnswersHere);
    let now = images;
    for (const file of files) {
      const against = whyNotAttachable(file, now);
      if (against) refuse(against);
      else
        now = [
          ...now,
          {
            key: unique(),
            name: file.name,
            media_type: file.type as SentImage["media_type"],
            data: await base64(file),
            file,
          },
        ];
    }
    setImages(now);
  };
  /** True if there were files: then they are ours, and of each one that is not taken it is said why. */
  const take = (files: readonly File[]): boolean => {
    if (files.length === 0) return false;
    void add(files);
    return true;
  };
  /** Cells of a table and the like come as words and as their picture: the words are meant. */
  const pasted = ({ files, types }: DataTransfer) => ([...(types ?? [])].includes("text/plain") ? [] : [...files]);
  return {
    images,
    texts,
    problems,
    add: (files: readonly File[]) => void add(files),
    remove: (key: string) => {
      setImages((now) => now.filter((one) => one.key !== key));
      setTexts((now) => now.filter((one) => one.key !== key));
      setProblems([]);
    },
    clear: () => {
      setImages([]);
      setTexts([]);
      setProblems([]);
    },
    paste: (event: ClipboardEvent) => take(pasted(event.clipboardData)) && event.preventDefault(),
    drop: {
      onDragOver: (event: DragEvent) => event.dataTransfer.types.includes("Files") && event.preventDefault(),
      onDrop: (event: DragEvent) => take([...event.dataTransfer.files]) && event.preventDefault(),
    },
  };
}

/** An SVG is text: a model reads it as such. */
function isImage({ type }: File): boolean {
  return type.startsWith("image/") && type !== "image/svg+xml";
}
