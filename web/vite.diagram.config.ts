// The frame in which diagrams are drawn: one classic script, because a frame without an origin may load no modules.
import { defineConfig } from "vite";

export default defineConfig({
  publicDir: false,
  define: { "import.meta.url": '""', "import.meta.resolve": "undefined" }, // of use to modules alone
  build: {
    outDir: "dist",
    emptyOutDir: false,
    target: "es2022",
    modulePreload: false,
    chunkSizeWarningLimit: 10_000,
    rollupOptions: {
      input: "src/diagram/frame.ts",
      output: { format: "iife", entryFileNames: "assets/diagram-[hash].js", codeSplitting: false },
    },
  },
});
