// Measures what a browser loads before the first paint, gzipped, and fails above the limit; and if built files load each other in a circle:
// then one runs before what it needs.
import { readdirSync, readFileSync, statSync } from "node:fs";
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

const assets = join(folder, "assets");
const loads = new Map(
  readdirSync(assets)
    .filter((name) => name.endsWith(".js"))
    .map((name) => {
      const source = readFileSync(join(assets, name), "utf8");
      return [name, [...source.matchAll(/(?:from|import)\s*["`]\.\/([^"`]+\.js)["`]/g)].map(([, other]) => other)];
    }),
);

/** The files of a circle that is reached from this one; undefined if there is none. */
function circle(name, path = [], over = new Set()) {
  if (path.includes(name)) return path.slice(path.indexOf(name));
  if (over.has(name)) return undefined;
  for (const other of loads.get(name) ?? []) {
    const found = circle(other, [...path, name], over);
    if (found) return found;
  }
  over.add(name);
  return undefined;
}

const over = new Set();
for (const name of loads.keys()) {
  const files = circle(name, [], over);
  if (files) {
    console.error(`Built files load each other in a circle: ${files.join(", ")}. Change the groups in vite.config.ts.`);
    process.exit(1);
  }
}
