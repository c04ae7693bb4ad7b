import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

const SERVER = process.env["ANYCOWORK_URL"] ?? "http://127.0.0.1:8484";
const PATHS = [
  "/context",
  "/events",
  "/roles",
  "/providers",
  "/settings",
  "/keys",
  "/workspaces",
  "/healthz",
  "/readyz",
  "/openapi.json",
];

export default defineConfig({
  plugins: [react(), tailwindcss()],
  build: {
    outDir: "dist",
    assetsDir: "assets",
    sourcemap: false,
    target: "es2022",
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 1000,
    rolldownOptions: {
      output: {
        // With a file for each set of pages that share something, a chat was eighty files: most of its loading was asking for them.
        codeSplitting: {
          // Merged less, two of them load each other, and one runs before what it needs; scripts/size.mjs looks.
          groups: [
            { name: "initial", tags: ["$initial"], priority: 1 },
            { name: "shared", minShareCount: 2, entriesAware: true, entriesAwareMergeThreshold: 250_000 },
          ],
        },
      },
    },
  },
  worker: { format: "es" },
  server: { proxy: Object.fromEntries(PATHS.map((path) => [path, { target: SERVER, changeOrigin: true }])) },
  test: {
    environment: "jsdom",
    setupFiles: ["src/testing/setup.ts"],
    include: ["src/**/*.test.{ts,tsx}"],
    restoreMocks: true,
    isolate: false,
    testTimeout: 30_000, // bounded, and not a race on a machine that is busy
  },
});
