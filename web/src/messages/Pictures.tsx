// Images that came with a message: shown from our own origin, each in the room that it will take.
import { useLive } from "../state/live";
import type { Picture } from "../wire/nouns";

export function Pictures({ messageId, pictures }: { messageId: string; pictures: readonly Picture[] }) {
  const chatId = useLive((live) => live.chatId);
  if (!chatId || pictures.length === 0) return null;
  return (
    <ul aria-label="Images" className="flex flex-wrap justify-end gap-1.5">
      {pictures.map(({ name, width, height }, at) => {
        const address = `/context/${encodeURIComponent(chatId)}/messages/${encodeURIComponent(messageId)}/images/${at}`;
        return (
          <li key={at}>
            <a href={address} target="_blank" rel="noopener noreferrer" className="block">
              <img
                src={address}
                alt={name ? `Image: ${name}` : "Image without a name"}
                width={width}
                height={height}
                loading="lazy"
                decoding="async"
                className="h-auto max-h-60 w-auto max-w-full rounded-xl border border-line bg-sunken object-contain"
              />
            </a>
          </li>
        );
      })}
    </ul>
  );
}
