// Images that came with a message: read with the session's page key, shown from memory, each in the room that it will take.

import { useEffect, useState } from "react";
import { useLive } from "../state/live";
import { t } from "../texts/messages";
import type { Picture } from "../wire/nouns";
import { pageKeyHeaders } from "../wire/session";

export function Pictures({ messageId, pictures }: { messageId: string; pictures: readonly Picture[] }) {
  const chatId = useLive((live) => live.chatId);
  if (!chatId || pictures.length === 0) return null;
  return (
    <ul aria-label={t.images} className="flex flex-wrap justify-end gap-1.5">
      {pictures.map((picture, at) => (
        <li key={at}>
          <PictureLink
            address={`/context/${encodeURIComponent(chatId)}/messages/${encodeURIComponent(messageId)}/images/${at}`}
            picture={picture}
          />
        </li>
      ))}
    </ul>
  );
}

function PictureLink({ address, picture: { name, width, height } }: { address: string; picture: Picture }) {
  const source = useBlob(address);
  return (
    <a href={source} target="_blank" rel="noopener noreferrer" className="block">
      <img
        src={source}
        alt={name ? t.image(name) : t.imageWithoutAName}
        width={width}
        height={height}
        decoding="async"
        className="h-auto max-h-60 w-auto max-w-full rounded-xl border border-line bg-sunken object-contain"
      />
    </a>
  );
}

/** The content of this address as an address of its own. An <img> cannot send the page key by itself. */
function useBlob(address: string): string | undefined {
  const [blob, setBlob] = useState<string>();
  useEffect(() => {
    const ended = new AbortController();
    let made: string | undefined;
    const read = async () => {
      const answer = await fetch(address, {
        headers: pageKeyHeaders(),
        credentials: "same-origin",
        signal: ended.signal,
      });
      if (!answer.ok) return;
      const content = await answer.blob();
      if (ended.signal.aborted) return;
      made = URL.createObjectURL(content);
      setBlob(made);
    };
    read().catch(() => {}); // shown as an image that is missing
    return () => {
      ended.abort();
      if (made) URL.revokeObjectURL(made);
    };
  }, [address]);
  return blob;
}
