// A text file for the next message: read here, whole, if it is text of a bearable size; a PDF is read by the server, which checks all again.

import type { SentFile } from "../state/acts";
import { t } from "../texts/composer";
import { api, given, Refusal } from "../wire/client";
import { unique } from "../wire/unique";
import { base64 } from "./base64";

export interface AttachedText extends SentFile {
  key: string;
  /** Bytes. */
  size: number;
}

const KB = 1024;
const MOST_KB = 200;
const MOST_KB_IN_ALL = 400;
const MOST_PDF_KB = 7 * KB;
const MOST_FILES = 8;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what tells a program or an image from text
const BINARY = /[\x00-\x08\x0b\x0e-\x1f\x7f-\x84\x86-\x9f]/;

/** The file's text, or why it cannot be sent beside those. */
export async function readText(file: File, others: readonly { size: number }[]): Promise<AttachedText | string> {
  const name = file.name || t.thisFile;
  if (others.length >= MOST_FILES) return t.aMessageTakesFiles(MOST_FILES);
  const pdf = file.type === "application/pdf" || name.toLowerCase().endsWith(".pdf");
  if (file.size > (pdf ? MOST_PDF_KB : MOST_KB) * KB) return t.isLargerThan(name, pdf ? MOST_PDF_KB : MOST_KB);
  let content: string | null;
  try {
    content = pdf ? await pdfText(file, name) : await utf8(file);
  } catch (error) {
    return error instanceof Refusal ? error.message : t.isNoText(name);
  }
  if (content === null || BINARY.test(content)) return t.isNoText(name);
  if (!content.trim()) return t.isEmpty(name);
  const size = pdf ? new TextEncoder().encode(content).length : file.size;
  const sum = others.reduce((bytes, other) => bytes + other.size, size);
  if (sum > MOST_KB_IN_ALL * KB) return t.togetherTooLarge(MOST_KB_IN_ALL);
  return { key: unique(), name: [...name].slice(0, 100).join(""), content, size };
}

/** The server reads it, on its own machine. */
async function pdfText(file: File, name: string): Promise<string> {
  const body = { name: [...name].slice(0, 100).join(""), data: await base64(file) };
  return (await given(api.POST("/attachments/pdf", { body }))).content;
}

async function utf8(file: Blob): Promise<string | null> {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
  } catch {
    return null; // another encoding, no text at all, or a folder
  }
}
