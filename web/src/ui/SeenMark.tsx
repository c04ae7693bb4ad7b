import { useEffect, useRef } from "react";

/** An end of something that must have been in view, wherever it scrolls, before it is decided. Tells once. */
export function SeenMark({ onSeen }: { onSeen: () => void }) {
  const mark = useRef<HTMLSpanElement>(null);
  const tell = useRef(onSeen);
  tell.current = onSeen;
  useEffect(() => {
    const place = mark.current;
    if (!place || typeof IntersectionObserver === "undefined") return tell.current();
    const watch = new IntersectionObserver((entries) => {
      if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
      watch.disconnect();
      tell.current();
    });
    watch.observe(place);
    return () => watch.disconnect();
  }, []);
  return <span ref={mark} aria-hidden data-seen-mark className="block h-px w-full" />;
}
