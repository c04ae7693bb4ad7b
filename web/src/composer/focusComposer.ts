export function focusComposer(): void {
  document.getElementById("composer")?.focus();
}
