// Ties the sketchbook to the search.
import * as api from "./api.js";
import { EXAMPLES, exampleIcon, strokesOf } from "./examples.js";
import { fit, outline } from "./geometry.js";
import { decode, encode } from "./link.js";
import { Results } from "./results.js";
import { Sketchpad } from "./sketchpad.js";
import { Viewer } from "./viewer.js";

const KEPT = "sketchseek.drawing";
const PAGE_OF_HITS = 24;
const find = (selector) => document.querySelector(selector);
const pad = new Sketchpad(find("#paper"));
const viewer = new Viewer(find("#viewer"), say);
const results = new Results(find("#grid"), find("#hit"), {
  onOpen: (id) => viewer.open(results.hits, id),
  onPick: showPicks,
});
let collection = null; // what /api/index said
let asking = null; // the search under way
let shown = null; // the query whose hits are on screen
let complete = false; // nothing left to scroll to

// --- tools ---------------------------------------------------------------------------------------

const actions = {
  pencil: () => choose("pencil"),
  eraser: () => choose("eraser"),
  undo: () => pad.undo(),
  redo: () => pad.redo(),
  flip: () => pad.flip(),
  clear: () => {
    pad.clear();
    say("Cleared", "Undo", () => pad.undo());
  },
  import: () => find("#file").click(),
  download: () => {
    const address = URL.createObjectURL(new Blob([pad.toSVG()], { type: "image/svg+xml" }));
    Object.assign(document.createElement("a"), { href: address, download: "drawing.svg" }).click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  },
  share: async () => {
    try {
      await navigator.clipboard.writeText(location.href);
      say("Link to this drawing copied");
    } catch {
      say("The address bar holds the link to this drawing");
    }
  },
};
for (const [name, action] of Object.entries(actions)) find(`#${name}`).addEventListener("click", action);

function choose(tool) {
  pad.tool = tool;
  for (const name of ["pencil", "eraser"]) find(`#${name}`).setAttribute("aria-pressed", name === tool);
  find("#paper").dataset.tool = tool;
}

addEventListener("keydown", (event) => {
  if (find("#viewer").open) return;
  const key = event.key.toLowerCase();
  const command = event.ctrlKey || event.metaKey;
  let action = null;
  if (command && key === "z") action = event.shiftKey ? "redo" : "undo";
  else if (command && key === "y") action = "redo";
  else if (!command && !event.altKey) action = { p: "pencil", e: "eraser", delete: "clear" }[key];
  if (!action || find(`#${action}`).disabled) return;
  event.preventDefault();
  actions[action]();
});

// --- pictures as a beginning: choose, drop, paste ------------------------------------------------

async function bringIn(file) {
  if (!file) return;
  document.body.classList.add("tracing");
  try {
    const { strokes } = await api.trace(file);
    pad.replace(fit(strokes));
    say("Traced", "Undo", () => pad.undo());
  } catch (problem) {
    say(problem.message);
  } finally {
    document.body.classList.remove("tracing");
  }
}

find("#file").addEventListener("change", (event) => {
  bringIn(event.target.files[0]);
  event.target.value = "";
});
addEventListener("paste", (event) => bringIn(event.clipboardData.files[0]));
addEventListener("dragover", (event) => {
  event.preventDefault();
  document.body.classList.add("dropping");
});
addEventListener("dragleave", (event) => event.relatedTarget || document.body.classList.remove("dropping"));
addEventListener("drop", (event) => {
  event.preventDefault();
  document.body.classList.remove("dropping");
  bringIn(event.dataTransfer.files[0]);
});

// --- the drawing: kept in this browser, and in the address ---------------------------------------

function keep() {
  const text = pad.strokes.length ? encode(pad.strokes) : "";
  history.replaceState(null, "", text ? `#${text}` : location.pathname);
  try {
    localStorage.setItem(KEPT, JSON.stringify({ link: text, strokes: pad.strokes }));
  } catch {
    // A full or forbidden storage costs the memory of this drawing, nothing else.
  }
}

function kept() {
  try {
    const { link, strokes } = JSON.parse(localStorage.getItem(KEPT));
    const sound = strokes.every((stroke) => stroke.length && stroke.every((p) => p.length === 3 && p.every(Number.isFinite)));
    return sound ? { link, strokes } : null;
  } catch {
    return null;
  }
}

/** The drawing that was left here; one that a link brings lies on top of it, and undo takes it away. */
function restore() {
  const link = location.hash.slice(1);
  const mine = kept();
  const theirs = link && link !== mine?.link ? decode(link) : null;
  pad.restore(mine?.strokes ?? []);
  if (theirs) pad.replace(theirs);
}

addEventListener("hashchange", () => {
  const strokes = decode(location.hash.slice(1));
  if (strokes) pad.replace(strokes);
});

pad.addEventListener("live", showState);
pad.addEventListener("change", () => {
  search(); // first: the server works while the rest is done
  keep();
  showState();
});
find("#mirror").addEventListener("change", () => search());

function showState() {
  const empty = !pad.strokes.length;
  find("#undo").disabled = !pad.canUndo;
  find("#redo").disabled = !pad.canRedo;
  for (const name of ["clear", "flip", "download", "share"]) find(`#${name}`).disabled = empty;
  document.body.classList.toggle("blank", empty && !pad.busy);
}

// --- search --------------------------------------------------------------------------------------

const query = () => ({ strokes: outline(pad.strokes), mirror: find("#mirror").checked });

async function search(extra = {}) {
  asking?.abort();
  if (!pad.strokes.length || !collection?.pictures) {
    shown = null;
    results.clear();
    showWelcome();
    document.body.classList.remove("waiting");
    return;
  }
  const mine = (asking = new AbortController());
  const current = () => asking === mine && !mine.signal.aborted;
  document.body.classList.add("waiting");
  const wanted = { ...query(), ...extra, k: PAGE_OF_HITS };
  performance.mark("search");
  try {
    const answer = await patiently(() => api.search(wanted, mine.signal), current);
    if (!(await results.show(answer.hits, current))) return;
    performance.measure("pen up to results", "search");
    shown = wanted;
    complete = answer.hits.length < PAGE_OF_HITS;
    find("#end").hidden = true;
    explain(answer);
  } catch (problem) {
    if (problem.name === "AbortError" || !current()) return;
    trouble(problem);
  } finally {
    if (current()) {
      document.body.classList.remove("waiting");
      watchBottom();
    }
  }
}

/** Ask again a few times when the server says that it is busy. */
async function patiently(action, current) {
  for (let attempt = 0; ; attempt++) {
    try {
      return await action();
    } catch (problem) {
      if (problem.status !== 503 || attempt === 3 || !current()) throw problem;
      await new Promise((done) => setTimeout(done, 1000 * problem.retryAfter));
    }
  }
}

function explain(answer) {
  notice(null);
  const count = answer.pictures.toLocaleString("en");
  find("#status").textContent = answer.hits.length
    ? `Best of ${count} pictures, in ${Math.max(1, Math.round(answer.took_ms))} ms`
    : `Nothing like it among ${count} pictures`;
  if (!answer.hits.length) notice("nothing");
  find("#answers h2").textContent = wantedMore() ? "More like these" : "Best matches";
  find("#answers h2").hidden = false;
}

const wantedMore = () => Boolean(shown?.picked);

function trouble(problem) {
  find("#status").textContent = "";
  if (problem.status === 422 && results.hits.length === 0) find("#status").textContent = problem.message;
  else if (problem.status === 422) say(problem.message);
  else {
    find("#trouble p").textContent = problem.message;
    notice("trouble");
  }
}
find("#again").addEventListener("click", async () => {
  await look();
  search();
});

const bottom = new IntersectionObserver(([entry]) => entry.isIntersecting && showMore(), { rootMargin: "250px" });

/** Look again whether the end of the page is near: an observer only tells of changes. */
function watchBottom() {
  bottom.disconnect();
  bottom.observe(find("#sentinel"));
}

async function showMore() {
  if (!shown || complete || document.body.matches(".waiting, .more")) return;
  const before = shown;
  const from = results.hits.length;
  document.body.classList.add("more");
  try {
    const answer = await api.search({ ...before, offset: from }, asking.signal);
    if (shown !== before || from !== results.hits.length) return;
    results.append(answer.hits);
    complete = answer.hits.length < PAGE_OF_HITS;
  } catch (problem) {
    complete = problem.status === 422; // as deep as the server goes
    if (problem.name !== "AbortError" && !complete) say(problem.message);
    if (!complete) return;
  } finally {
    document.body.classList.remove("more");
    find("#end").hidden = !complete;
  }
  watchBottom();
}

// --- more like these -----------------------------------------------------------------------------

function showPicks() {
  const count = results.picked.size;
  find("#picks").hidden = !count;
  if (count) find("#picks output").textContent = count === 1 ? "1 picture ticked" : `${count} pictures ticked`;
}
find("#more-like").addEventListener("click", () => search({ picked: [...results.picked] }));
find("#unpick").addEventListener("click", () => {
  results.unpick();
  if (wantedMore()) search();
});

// --- the collection ------------------------------------------------------------------------------

async function look() {
  try {
    const before = collection?.pictures;
    collection = await api.index();
    document.body.classList.toggle("can-expand", Boolean(collection.expansion));
    const count = collection.pictures;
    find("#collection").textContent = count === 1 ? "1 picture" : `${count.toLocaleString("en")} pictures`;
    if (before !== undefined && before !== count) search();
    if (before === undefined || !count) showWelcome();
  } catch (problem) {
    if (!collection) trouble(problem);
  }
  clearTimeout(look.next);
  look.next = setTimeout(look, collection?.pictures ? 15000 : 2000);
}

function showWelcome() {
  find("#answers h2").hidden = true;
  find("#status").textContent = "";
  find("#end").hidden = true;
  if (!collection) return;
  if (!collection.pictures) {
    find("#command").textContent = collection.command;
    notice("first-visit");
  } else notice("invitation");
}
find("#copy-command").addEventListener("click", async () => {
  await navigator.clipboard?.writeText(find("#command").textContent).catch(() => {});
  say("Command copied");
});

function notice(name) {
  for (const element of document.querySelectorAll(".notice")) element.hidden = element.id !== name;
}

// --- a word at the bottom of the page ------------------------------------------------------------

function say(text, label, action) {
  const toast = find("#toast");
  const button = toast.querySelector("button");
  toast.querySelector("span").textContent = text;
  button.hidden = !label;
  button.textContent = label ?? "";
  button.onclick = () => {
    toast.hidden = true;
    action();
  };
  // A dialog lies above everything else: the word has to be said inside it.
  (find("#viewer").open ? find("#viewer") : document.body).append(toast);
  toast.hidden = false;
  clearTimeout(say.timer);
  say.timer = setTimeout(() => (toast.hidden = true), 5000);
}

for (const example of EXAMPLES) {
  const button = document.createElement("button");
  button.type = "button";
  button.append(exampleIcon(example), example.name);
  button.addEventListener("click", () => pad.replace(strokesOf(example)));
  find("#examples").append(button);
}

restore();
await look();
search();
