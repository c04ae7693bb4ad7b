/** What the settings page says about the sandbox of commands. */
export const SANDBOX_TEXTS = {
  caches: "Package caches that commands use (they never change yours)",
};
