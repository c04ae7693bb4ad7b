// Measures what a browser loads before the first paint, gzipped, and fails above the limit.
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

const LIMIT_KB = 250;
const folder = process.argv[2] ?? "dist";
const page = readFileSync(join(folder, "index.html"), "utf8");
const initial = [...page.matchAll(/(?:src|href)="\/(assets\/[^"]+\.(js|css))"/g)];
const sizes = { js: 0, css: 0 };
for (const [, file, kind] of initial) {
  statSync(join(folder, file));
  sizes[kind] += gzipSync(readFileSync(join(folder, file)), { level: 9 }).length / 1024;
}
console.log(
  `initial JavaScript ${sizes.js.toFixed(1)} KB, CSS ${sizes.css.toFixed(1)} KB (gzip); limit for JavaScript ${LIMIT_KB} KB`,
);
if (initial.length === 0 || sizes.js > LIMIT_KB) {
  console.error(
    initial.length === 0
      ? "No initial file was found in index.html."
      : "The first load became too large: load the heavy part later.",
  );
  process.exit(1);
}
