// What `npm pack` puts into the package: the modules that a published site has, from where they lie, and the engine.
import { access, copyFile, mkdir, readFile, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

const HERE = new URL(".", import.meta.url);
const ROOT = new URL("../../", HERE);
const SITE = new URL("src/sketchseek/web/site/", ROOT);
const PAGE = new URL("src/sketchseek/web/page/", ROOT);
const ENGINE = new URL("src/sketchseek/web/engine/", ROOT);
const IMPORT = /^import [^"]*"(\.[^"]+)";$/gm;

const taken = new Map(); // where a file goes -> where it lies

/** A module and all that it imports. */
async function take(name) {
  if (taken.has(name)) return;
  const inPage = name.startsWith("page/");
  taken.set(name, inPage ? new URL(name.slice("page/".length), PAGE) : new URL(name, SITE));
  const source = await readFile(taken.get(name), "utf8");
  for (const [, path] of source.matchAll(IMPORT)) await take(new URL(path, `file:///${name}`).pathname.slice(1));
}

for (const entry of ["sketchseek.js", "engine/worker.js"]) await take(entry);
for (const name of ["sketchseek.wasm", "sketchseek-relaxed.wasm"]) {
  const engine = new URL(name, ENGINE);
  await access(engine).catch(() => {
    console.error("The engine for browsers is not built: `make wasm` builds it.");
    process.exit(1);
  });
  taken.set(`engine/${name}`, engine);
}
await rm(new URL("dist", HERE), { recursive: true, force: true });
for (const [name, from] of taken) {
  const to = fileURLToPath(new URL(`dist/${name}`, HERE));
  await mkdir(dirname(to), { recursive: true });
  await copyFile(from, to);
}
await copyFile(new URL("LICENSE", ROOT), new URL("LICENSE", HERE));
