// What the page asks of its server, asked of a published collection instead (../collection.js).
import { Problem, open } from "../collection.js";
import { trace as traced } from "./trace.js";

export { Problem };

let opening = null;

function collection() {
  const status = document.querySelector("#collection");
  opening ??= open(new URL("..", import.meta.url), {
    progress: (share) => { status.textContent = `Loading the collection, ${Math.floor(100 * share)}%`; },
  });
  opening.catch(() => { opening = null; }); // to be tried again
  return opening;
}

export async function index() {
  const { pictures, version } = await collection();
  return { pictures, version, options: ["turn"], expansion: null };
}

/** The first answers come by shape alone, `later` those by everything that was published, once it is there. */
export async function search({ strokes, k, offset, mirror, turn }, signal) {
  const here = await collection();
  const hasty = !here.isWhole;
  const answer = await here.search(strokes, { k, offset, mirror, turn, hasty });
  signal?.throwIfAborted();
  if (hasty) answer.later = here.see().catch(() => false);
  return answer;
}

export const pictures = async () => (await collection()).some;
export const examples = async () => (await collection()).examples;
export const thumbnailURL = async (hit) => (await collection()).thumbnail(hit);
export const pictureURL = thumbnailURL;
export const originalURL = ({ link }) => link ?? null;
export const whyMissing = async () => new Problem("This picture is not there any more.", 404);
export const trace = traced;

if (isSecureContext && "serviceWorker" in navigator) {
  navigator.serviceWorker.register(new URL("../sw.js", import.meta.url)).then(async () => {
    (await navigator.serviceWorker.ready).active.postMessage("keep");
  }, () => {}); // without it, the site merely needs the network
}
