// The focus after its button went away, or could not be pressed for a while: it stays near, where a screen reader would else begin at the top of the page.
import { useEffect } from "react";

/** Once for the whole page. The closest thing around a button that went away gets its focus, so that nothing is pressed by a second Enter;
 *  a button that was switched off while its work was done gets it back. */
export function useKeptFocus(): void {
  useEffect(() => {
    let around: HTMLElement[] = []; // what had the focus last, and what it stands in
    let off: HTMLElement | null = null; // had the focus when it was switched off
    const remember = ({ target }: FocusEvent) => {
      around = [];
      off = null;
      for (let one = target as HTMLElement | null; one && one !== document.body; one = one.parentElement)
        around.push(one);
    };
    const check = () => {
      const [last] = around;
      if (!last) return;
      if (last.isConnected && last.matches(":disabled")) off = last;
      if (document.activeElement !== document.body && document.activeElement !== null) return;
      if (!last.isConnected)
        giveTo([...around.filter(({ isConnected }) => isConnected), document.getElementById("main")]);
      else if (off === last && !last.matches(":disabled")) last.focus({ preventScroll: true });
    };
    const observer = new MutationObserver(() => requestAnimationFrame(check)); // after who moves the focus on purpose
    document.addEventListener("focusin", remember);
    observer.observe(document.body, { childList: true, subtree: true, attributeFilter: ["disabled"] });
    return () => {
      document.removeEventListener("focusin", remember);
      observer.disconnect();
    };
  }, []);
}

/** The first of them that takes it. */
function giveTo(places: readonly (HTMLElement | null)[]): void {
  for (const place of places) {
    if (!place) continue;
    if (!place.hasAttribute("tabindex")) place.tabIndex = -1;
    place.focus({ preventScroll: true });
    if (document.activeElement === place) return;
  }
}
