// The drawing, kept in this browser and in the address.
import { decode, encode } from "./link.js";

const KEPT = "sketchseek.drawing";

/** What this browser has noted under a name; with a text, note it. */
export function noted(name, text) {
  try {
    if (text !== undefined) localStorage.setItem(name, text);
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

export function keep(strokes) {
  const text = strokes.length ? encode(strokes) : "";
  history.replaceState(null, "", text ? `#${text}` : location.pathname);
  noted(KEPT, JSON.stringify({ link: text, strokes }));
}

function kept() {
  try {
    const { link, strokes } = JSON.parse(noted(KEPT));
    const sound = strokes.every((stroke) => stroke.length && stroke.every((p) => p.length === 3 && p.every(Number.isFinite)));
    return sound ? { link, strokes } : null;
  } catch {
    return null;
  }
}

/** The drawing that was left here; one that a link brings lies on top of it, and undo takes it away. */
export function restore(pad) {
  const link = location.hash.slice(1);
  const mine = kept();
  const theirs = link && link !== mine?.link ? decode(link) : null;
  pad.restore(mine?.strokes ?? []);
  if (theirs) pad.replace(theirs);
  addEventListener("hashchange", () => {
    const strokes = decode(location.hash.slice(1));
    if (strokes) pad.replace(strokes);
  });
}

/** Hand the visitor a file made here. */
export function download(name, type, content) {
  const address = URL.createObjectURL(new Blob([content], { type }));
  Object.assign(document.createElement("a"), { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}
