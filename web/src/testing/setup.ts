// What jsdom lacks and a browser has.
import { cleanup, configure } from "@testing-library/react";
import { afterEach } from "vitest";
import { useToasts } from "../ui/toasts";

Object.assign(HTMLDialogElement.prototype, {
  showModal(this: HTMLDialogElement) {
    this.open = true;
  },
  close(this: HTMLDialogElement) {
    this.open = false;
    queueMicrotask(() => this.dispatchEvent(new Event("close"))); // a browser says it later, too
  },
});
window.matchMedia ??= (query) =>
  ({ matches: false, media: query, addEventListener() {}, removeEventListener() {} }) as unknown as MediaQueryList;
Element.prototype.scrollTo ??= () => {};
globalThis.ResizeObserver ??= class {
  observe() {}
  unobserve() {}
  disconnect() {}
};

configure({ asyncUtilTimeout: 20_000 }); // bounded, and not a race on a machine that is busy
afterEach(() => {
  cleanup();
  useToasts.setState({ toasts: [] }); // files share one page: what one test told must not be there in the next
});
