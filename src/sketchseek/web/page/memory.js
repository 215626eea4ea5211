// The drawing and the words beside it, kept in this browser and in the address: #DRAWING&words=WORDS.
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

export function keep(strokes, words) {
  const link = [strokes.length && encode(strokes), words && `words=${encodeURIComponent(words)}`].filter(Boolean).join("&");
  history.replaceState(null, "", link ? `#${link}` : location.pathname);
  noted(KEPT, JSON.stringify({ link, strokes, words }));
}

const read = (link) => ({ strokes: decode(link.split("&")[0]), words: new URLSearchParams(link).get("words") ?? "" });

function kept() {
  try {
    const { link, strokes, words } = JSON.parse(noted(KEPT));
    const sound = strokes.every((stroke) => stroke.length && stroke.every((p) => p.length === 3 && p.every(Number.isFinite)));
    return sound ? { link, strokes, words } : null;
  } catch {
    return null;
  }
}

/** The drawing and words that were left here; a drawing that a link brings lies on top, and undo takes it away. */
export function restore(pad, field) {
  const link = location.hash.slice(1);
  const mine = kept();
  const theirs = link && link !== mine?.link ? read(link) : null;
  field.value = (theirs ?? mine)?.words ?? ""; // first: a drawing that comes is kept with it
  pad.restore(theirs?.words && !theirs.strokes ? [] : mine?.strokes ?? []);
  if (theirs?.strokes) pad.replace(theirs.strokes);
  addEventListener("hashchange", () => {
    const { strokes, words } = read(location.hash.slice(1));
    if (!strokes && !words) return;
    field.value = words;
    pad.replace(strokes ?? []);
  });
}

/** Hand the visitor a file made here. */
export function download(name, type, content) {
  const address = URL.createObjectURL(new Blob([content], { type }));
  Object.assign(document.createElement("a"), { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}
