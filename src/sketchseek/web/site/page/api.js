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
  const { pictures, version, choices } = await collection();
  const canChoose = Object.values(choices).some((list) => list.length > 1);
  return { pictures, version, options: ["turn", "words", ...(canChoose ? ["folder"] : [])], expansion: null };
}

const GROUPS = { set: "Sets", licence: "Licences" };

/** Sets of icons and licences, as folders to look in. */
export async function folders() {
  const { choices } = await collection();
  return {
    folders: Object.entries(GROUPS).filter(([column]) => choices[column].length > 1).flatMap(([column, name]) => [
      { folder: name, pictures: choices[column].reduce((sum, [, count]) => sum + count, 0) },
      ...choices[column].map(([value, count]) => ({ folder: `${name}/${value}`, pictures: count })),
    ]),
  };
}

/** { set } or { licence } of a folder. */
function chosen(folder = "") {
  const [group, ...value] = folder.split("/");
  const column = Object.keys(GROUPS).find((name) => GROUPS[name] === group);
  return column && value.length ? { [column]: value.join("/") } : null;
}

/** The first answers come by shape alone, `later` those by everything that was published, once it is there. */
export async function search({ strokes, words, folder, k, offset, mirror, turn }, signal) {
  const here = await collection();
  const hasty = !here.isWhole && Boolean(strokes);
  const answer = await here.search(strokes, { words, only: chosen(folder), k, offset, mirror, turn, hasty });
  signal?.throwIfAborted();
  if (hasty) answer.later = here.see().catch(() => false);
  return answer;
}

export const pictures = async () => (await collection()).some;
export const examples = async () => (await collection()).examples;
export const thumbnailURL = async (hit) => (await collection()).thumbnail(hit);
export const pictureURL = thumbnailURL;
export const original = async (hit) => (await collection()).original(hit);
export const nameOf = ({ picture }) => picture.replace(/\.[^./]+$/, "");
export const originalURL = ({ link }) => link ?? null;
export const whyMissing = async () => new Problem("This picture is not there any more.", 404);
export const trace = traced;

if (isSecureContext && "serviceWorker" in navigator) {
  navigator.serviceWorker.register(new URL("../sw.js", import.meta.url)).then(async () => {
    (await navigator.serviceWorker.ready).active.postMessage("keep");
  }, () => {}); // without it, the site merely needs the network
}
