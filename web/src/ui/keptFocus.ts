// The focus after its button went away with what it removed: it stays near, where a screen reader would else begin at the top of the page.
import { type RefObject, useEffect } from "react";

/** Keeps the focus in `area`: the closest thing around the button that is still there gets it. Nothing is pressed by a second Enter. */
export function useKeptFocus(area: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    const node = area.current;
    if (!node) return;
    let around: HTMLElement[] = []; // what had the focus last, and what it stands in
    const remember = ({ target }: FocusEvent) => {
      around = [];
      for (let one = target as HTMLElement | null; one && one !== node; one = one.parentElement) around.push(one);
    };
    const check = () => {
      if (document.activeElement !== document.body || !around[0] || around[0].isConnected) return;
      const place = around.find(({ isConnected }) => isConnected) ?? node;
      around = [];
      if (!place.hasAttribute("tabindex")) place.tabIndex = -1;
      place.focus({ preventScroll: true });
    };
    const observer = new MutationObserver(() => requestAnimationFrame(check)); // after who moves the focus on purpose
    node.addEventListener("focusin", remember);
    observer.observe(document.body, { childList: true, subtree: true });
    return () => {
      node.removeEventListener("focusin", remember);
      observer.disconnect();
    };
  }, [area]);
}
