// Ties the sketchbook to the search.
import * as api from "./api.js";
import { showExamples, showWall } from "./examples.js";
import { Folders } from "./folders.js";
import { fit, outline, placed } from "./geometry.js";
import { farewell, looksRight, worth } from "./judgement.js";
import { download, keep, noted, restore } from "./memory.js";
import { Photo, readPhoto } from "./photo.js";
import { Picks } from "./picks.js";
import { Results } from "./results.js";
import { Sketchpad } from "./sketchpad.js";
import { say } from "./toast.js";
import { Viewer } from "./viewer.js";

const PAGE_OF_HITS = 24;
const MOST_IN_ZIP = 200;
const LEGEND = "sketchseek.legend"; // noted once it was seen
const TYPING = 250; // ms without a key after which a word is searched for
const REST = 500; // ms without a line after which a drawing that finds nothing is turned
const LOOK = { calm: 15000, waiting: 2000 }; // ms between two looks at the server
const find = (selector) => document.querySelector(selector);
const pad = new Sketchpad(find("#paper"));
const photo = new Photo(find("#photo"));
const results = new Results(find("#grid"), find("#hit"), {
  thumbnail: api.thumbnailURL,
  onOpen: (id) => viewer.open(results.hits, id),
  onPick: showPicks,
});
const viewer = new Viewer(find("#viewer"), {
  say,
  picture: api.pictureURL,
  original: api.originalURL,
  name: api.nameOf,
  svg: api.original,
  thumbnail: api.thumbnailURL,
  contours: api.contoursURL,
  whyMissing: async (address) => {
    const problem = await api.whyMissing(address);
    if (problem?.status === 0) lose();
    return problem;
  },
  hasMore: () => Boolean(shown) && end === null,
  more: showMore,
  can: (deed) => ({
    reveal: collection?.reveal,
    explain: collection?.explain && shown?.strokes,
    within: folders.list.length > 1,
  })[deed] ?? false,
  explain: (hit) => api.explain({ strokes: shown.strokes, mirror: shown.mirror }, hit),
  reveal: (hit) => api.reveal(hit).then(() => say("Shown in its folder"), (problem) => say(problem.message)),
  within: (hit) => folders.choose(hit.picture.split("/").slice(0, -1).join("/")),
  isPicked: (hit) => results.picked.has(hit.id),
  pick: (hit, yes) => results.pick(hit, yes),
});
const picks = new Picks(find("#picks"), {
  thumbnail: api.thumbnailURL,
  onDrop: (hit) => (results.picked.has(hit.id) ? results.pick(hit, false) : results.reject(hit, false)),
});
const folders = new Folders(find("#where"), () => search());
let collection = null; // what /api/index said
let lost = false; // the server does not answer
let asking = null; // the search under way
let shown = null; // the query whose hits are on screen
let resting = 0; // the timer of a drawing that is about to be turned
let end = null; // why there is nothing left to scroll to, as a sentence
let held = []; // hits that are no better than chance: they wait until they are asked for
let everything = false; // they were
let liked = false; // the search asks for more like the selected pictures
let greeted = null; // the version of the collection whose pictures and examples are on the first page

// --- tools ---------------------------------------------------------------------------------------

const TOOLS = {
  pencil: "arrow keys move the pencil, space puts it down and lifts it, Escape drops the line.",
  line: "arrow keys move to where the line begins, space begins it and ends it.",
  ellipse: "arrow keys move to a corner of the ellipse, space begins it and ends it.",
  rubber: "arrow keys move the eraser, space puts it down and lifts it.",
  hand: "arrow keys move what is drawn, plus and minus resize it, space chooses one stroke after the other.",
};
const KEYS = { p: "pencil", l: "line", o: "ellipse", e: "rubber", r: "rubber", m: "hand", delete: "clear", "?": "keys" };
const actions = {
  keys: () => find("#help").showModal(),
  ...Object.fromEntries(Object.keys(TOOLS).map((tool) => [tool, () => choose(tool)])),
  undo: () => pad.undo(),
  redo: () => pad.redo(),
  flip: () => pad.flip(),
  clear: () => {
    pad.clear();
    say(pad.strokes.length ? "Taken away" : "Cleared", "Undo", () => pad.undo());
  },
  import: () => find("#file").click(),
  download: () => download("drawing.svg", "image/svg+xml", pad.toSVG()),
  share: async () => {
    try {
      await navigator.clipboard.writeText(location.href);
      say("Link to this drawing copied");
    } catch {
      say("The address bar holds the link to this drawing");
    }
  },
};
for (const [name, action] of Object.entries(actions)) {
  find(`#${name}`).addEventListener("click", () => {
    find("#more").open = false;
    action();
  });
}

// A menu closes when something else is meant.
const closeMenus = (except) => {
  for (const menu of document.querySelectorAll(".menu[open]")) menu.open = menu === except;
};
addEventListener("pointerdown", ({ target }) => closeMenus(target.closest(".menu")));
addEventListener("keydown", ({ key }) => key === "Escape" && closeMenus());

function choose(tool) {
  pad.tool = tool;
  for (const name of Object.keys(TOOLS)) find(`#${name}`).setAttribute("aria-pressed", name === tool);
  find("#paper").dataset.tool = tool;
  find("#how-keys").textContent = TOOLS[tool];
  find("#more").classList.toggle("chosen", Boolean(find(`#more [aria-pressed="true"]`)));
}

addEventListener("keydown", (event) => {
  if (find("dialog[open]") || event.target.matches("input:not([type=checkbox]), select")) return;
  const key = event.key.toLowerCase();
  const command = event.ctrlKey || event.metaKey;
  let action = null;
  if (command && key === "z") action = event.shiftKey ? "redo" : "undo";
  else if (command && key === "y") action = "redo";
  else if (!command && !event.altKey) action = KEYS[key];
  if (!action || find(`#${action}`).disabled) return;
  event.preventDefault();
  actions[action]();
});

// --- pictures as a beginning: choose, drop, paste ------------------------------------------------

async function bringIn(file) {
  if (!file) return;
  document.body.classList.add("tracing");
  try {
    const picture = can("box") ? await readPhoto(file) : null;
    const { strokes, photograph } = await api.trace(picture?.blob ?? file);
    if (picture && photograph) photo.show(picture, strokes);
    else draw(strokes);
  } catch (problem) {
    say(problem.message);
  } finally {
    document.body.classList.remove("tracing");
  }
}

/** Put what was traced on the sheet. */
function draw(strokes) {
  photo.hide();
  pad.replace(fit(strokes));
  say("Traced", "Undo", () => pad.undo());
}

photo.addEventListener("change", () => {
  showState();
  search();
});
find("#photo-trace").addEventListener("click", () => draw(photo.strokes));
find("#photo-remove").addEventListener("click", () => {
  photo.hide();
  showState();
  search();
});
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

// --- the drawing ---------------------------------------------------------------------------------

pad.addEventListener("live", showState);
pad.addEventListener("change", () => {
  search(); // first: the server works while the rest is done
  keep(pad.strokes, words());
  showState();
});
const words = () => (collection && !can("words") ? "" : find("#words").value.trim());
find("#words").addEventListener("input", () => {
  clearTimeout(words.pause);
  words.pause = setTimeout(() => {
    search();
    keep(pad.strokes, words());
    showState();
  }, TYPING);
});
for (const name of ["mirror", "turn", "blend"]) find(`#${name}`).addEventListener("change", () => search());
find("#blend").addEventListener("input", showBlend);

function showState() {
  const empty = !pad.strokes.length;
  find("#undo").disabled = !pad.canUndo;
  find("#redo").disabled = !pad.canRedo;
  for (const name of ["clear", "flip", "download"]) find(`#${name}`).disabled = empty;
  find("#share").disabled = empty && !words();
  document.body.classList.toggle("blank", empty && !pad.busy);
  document.body.classList.toggle("photo", Boolean(photo.query));
}

/** From shape to meaning; the middle leaves it to the server. */
const BLENDS = [
  ["shape alone", { blend: 0, expand: 0 }],
  ["mostly shape", { blend: 0.3 }],
  ["shape and meaning", {}],
  ["mostly meaning", { blend: 2 }],
  ["meaning alone", { blend: 5 }],
];

function showBlend() {
  find("#blend").setAttribute("aria-valuetext", BLENDS[find("#blend").value][0]);
}

// --- search --------------------------------------------------------------------------------------

const isOn = (selector) => find(selector).checked && !find(selector).parentElement.hidden;

const query = () => ({
  ...(photo.query ?? (pad.strokes.length ? { strokes: outline(pad.strokes) } : {})),
  ...(words() && { words: words() }),
  mirror: find("#mirror").checked,
  ...(isOn("#turn") && { turn: "any" }),
  ...(!find("#blend").parentElement.hidden && BLENDS[find("#blend").value][1]),
  ...(liked && results.picked.size && { picked: [...results.picked.keys()] }),
  ...(liked && results.rejected.size && { rejected: [...results.rejected.keys()] }),
  ...(folders.chosen && { folder: folders.chosen.folder }),
});

/** The hits of an answer, with an outline for each place: the drawing, which is sent once, placed there. */
function placedHits({ hits, drawing }) {
  for (const hit of hits) {
    for (const place of [hit, ...(hit.also ?? [])]) place.outline ??= placed(drawing, place);
  }
  return hits;
}

/** Whether there is anything to search for. */
const asked = () => pad.strokes.length > 0 || Boolean(photo.query || words());

/** Search for what is drawn. New hits are shown from their top, unless `inPlace`. */
async function search({ inPlace = false } = {}) {
  asking?.abort();
  clearTimeout(resting);
  if (!asked() || !collection?.pictures) {
    shown = null;
    results.clear();
    showWelcome();
    document.body.classList.remove("waiting");
    return;
  }
  const mine = (asking = new AbortController());
  const current = () => asking === mine && !mine.signal.aborted;
  document.body.classList.add("waiting");
  const wanted = { turn: 0, ...query(), k: PAGE_OF_HITS };
  performance.mark("search");
  try {
    const answer = await patiently(() => api.search(wanted, mine.signal), current);
    if (!(await show(answer, wanted, current))) return;
    performance.measure("pen up to results", "search");
    if (!inPlace) showFromTop();
    answer.later?.then((more) => more && current() && results.hits.length <= PAGE_OF_HITS && search({ inPlace: true }));
    if (!looksRight(answer) && wanted.strokes && wanted.turn === 0) resting = setTimeout(() => turn(wanted, mine.signal, current), REST);
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

/** Show an answer to what was wanted, unless it is not any more. */
async function show(answer, wanted, current) {
  const hits = placedHits(answer);
  const good = worth(answer);
  if (!(await results.show(hits.slice(0, good), current, looksRight(answer)))) return false;
  shown = wanted;
  everything = false;
  showEnding(answer, hits.slice(good));
  explain(answer);
  return true;
}

/** Nothing looks right, and the pen rests: the server may turn the drawing. Shown is what it finds by that. */
async function turn({ turn: _, ...wanted }, signal, current) {
  const answer = await api.search(wanted, signal).catch(() => null);
  if (answer?.hits[0]?.rotation && current()) await show(answer, wanted, current);
}

/** The sheet, which stays in sight beside the hits or lies above them, does not move by this. */
function showFromTop() {
  if (find("#answers").getBoundingClientRect().top < 0) find("#answers").scrollIntoView({ block: "start" });
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

const counted = (number) => (number === 1 ? "1 picture" : `${number.toLocaleString("en")} pictures`);

function explain(answer) {
  notice(null);
  const part = answer.covered < 1 ? ` (${Math.round(100 * answer.covered)}% of the collection answered in time)` : "";
  find("#status").textContent = answer.hits.length
    ? `Best of ${counted(folders.chosen?.pictures ?? answer.pictures)}, in ${Math.max(1, Math.round(answer.took_ms))} ms${part}`
    : `Nothing among ${counted(answer.pictures)}${part}`;
  if (answer.note) find("#status").textContent += `. ${answer.note}`;
  if (!answer.hits.length) notice("nothing");
  find("#answers h2").textContent = shown.picked ? "More like these" : answer.verdict;
  find("#answers h2").hidden = false;
  find("#legend").hidden = !answer.hits[0]?.outline.length || noted(LEGEND) !== null;
}

find("#legend button").addEventListener("click", () => {
  find("#legend").hidden = true;
  noted(LEGEND, "seen");
});

function trouble(problem) {
  find("#status").textContent = "";
  if (problem.status === 422 && results.hits.length === 0) find("#status").textContent = problem.message;
  else if (problem.status === 422) say(problem.message);
  else {
    find("#trouble p").textContent = problem.message;
    find("#answers h2").hidden = find("#legend").hidden = true;
    notice("trouble");
  }
  if (problem.status === 0) lose();
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

/** How the list ends, if it does: `rest` are hits of the answer that are not shown. */
function showEnding(answer, rest) {
  held = rest;
  if (held.length) showEnd(farewell(results.hits));
  else if (answer.hits.length < PAGE_OF_HITS && results.hits.length) {
    showEnd(`These are all ${counted(results.hits.length)}, best first.`); // every picture has a rank
  } else showEnd(null);
}

function showEnd(sentence) {
  end = sentence;
  find("#end").hidden = !end;
  find("#end").textContent = end ?? "";
  find("#show-more").hidden = !held.length;
}

find("#show-more").addEventListener("click", () => {
  everything = true;
  results.append(held);
  showEnding({ hits: Array(results.hits.length % PAGE_OF_HITS || PAGE_OF_HITS) }, []);
  watchBottom();
});

async function showMore() {
  if (!shown || end !== null || document.body.matches(".waiting, .more")) return;
  const before = shown;
  const from = results.hits.length;
  document.body.classList.add("more");
  try {
    const answer = await api.search({ ...before, offset: from }, asking.signal);
    if (shown !== before || from !== results.hits.length) return;
    const hits = placedHits(answer);
    const good = everything ? hits.length : worth(answer, from);
    results.append(hits.slice(0, good));
    showEnding(answer, hits.slice(good));
  } catch (problem) {
    if (problem.status === 422) showEnd(`These are the best ${from} of ${counted(collection.pictures)}; the list goes no further.`);
    else if (problem.status === 0) lose();
    else if (problem.name !== "AbortError") say(problem.message);
    return;
  } finally {
    document.body.classList.remove("more");
  }
  watchBottom();
}

// --- selected pictures ---------------------------------------------------------------------------

function showPicks() {
  const any = results.picked.size + results.rejected.size > 0;
  picks.show([...results.picked.values()], [...results.rejected.values()], (id) => results.has(id));
  document.body.classList.toggle("picking", any);
  if (liked && !any) {
    liked = false;
    search();
  }
}
find("#more-like").addEventListener("click", () => {
  liked = true;
  search();
});
find("#unpick").addEventListener("click", () => results.unpick());
find("#list").addEventListener("click", () => {
  const paths = [...results.picked.values()].map((hit) => `${hit.picture}\n`);
  download("pictures.txt", "text/plain", paths.join(""));
});

find("#zip").addEventListener("click", () => {
  const all = [...results.picked.values()];
  if (all.length > MOST_IN_ZIP) say(`The first ${MOST_IN_ZIP} of them: a zip holds no more.`);
  const address = api.archiveURL(all.slice(0, MOST_IN_ZIP));
  Object.assign(document.createElement("a"), { href: address, download: "pictures.zip" }).click();
});

// --- the collection ------------------------------------------------------------------------------

/** Look at the server: how many pictures there are, and whether it is there. */
async function look() {
  try {
    const before = collection?.pictures;
    const version = collection?.version;
    collection = await api.index();
    if (collection.version !== version && can("folder")) api.folders().then(({ folders: all }) => folders.show(all), () => {});
    showAbilities();
    find("#collection").textContent = counted(collection.pictures);
    if (lost) regain();
    else if (before !== undefined && before !== collection.pictures) changed();
    if ((before === undefined && !asked()) || !collection.pictures) showWelcome();
  } catch (problem) {
    if (problem.status === 0) lose();
    if (!collection) trouble(problem);
  }
  lookIn(collection?.pictures && !lost ? LOOK.calm : LOOK.waiting);
}

/** Whether the server's searches may be told this. */
const can = (option) => Boolean(collection?.options?.includes(option));

/** Show what the server and its index can do, and nothing else. */
function showAbilities() {
  const expands = Boolean(collection.expansion);
  document.body.classList.toggle("can-expand", expands);
  document.body.classList.toggle("can-reject", expands && can("rejected"));
  find("#turn").parentElement.hidden = !can("turn");
  find(".words").hidden = !can("words");
  find("#blend").parentElement.hidden = !(expands && can("blend"));
  find("#stronger").hidden = !collection.stronger;
  find("#stronger code").textContent = collection.stronger ?? "";
  showBlend();
}

/** The collection has changed: search it again, unless that would take away what a person scrolled to. */
function changed() {
  if (results.hits.length <= PAGE_OF_HITS) search({ inPlace: true });
  else say("The collection has changed", "Search again", () => search());
}

function lookIn(wait) {
  clearTimeout(look.next);
  look.next = setTimeout(look, wait);
}

/** The server does not answer: say so, and look for it until it does. */
function lose() {
  if (lost) return;
  lost = true;
  find("#collection").textContent = "The server does not answer; looking for it…";
  lookIn(LOOK.waiting);
}

/** It is there again: do what could not be done. */
function regain() {
  lost = false;
  results.retry();
  viewer.retry();
  if (!shown || !find("#trouble").hidden) search({ inPlace: true });
  else watchBottom();
}

function showWelcome() {
  find("#answers h2").hidden = find("#legend").hidden = true;
  find("#status").textContent = "";
  held = [];
  showEnd(null);
  if (!collection) return;
  if (!collection.pictures) {
    find("#command").textContent = collection.command;
    notice("first-visit");
  } else {
    notice("invitation");
    greet();
  }
}

/** Show what the collection itself offers to begin with. */
async function greet() {
  if (greeted === collection.version) return;
  greeted = collection.version;
  try {
    showWall(find("#wall"), await api.pictures(), api.thumbnailURL);
    showExamples(find("#examples"), await api.examples(), (strokes) => pad.replace(strokes));
  } catch {
    greeted = null; // a first page without them will do; the next look asks again
  }
}
find("#copy-command").addEventListener("click", async () => {
  await navigator.clipboard?.writeText(find("#command").textContent).catch(() => {});
  say("Command copied");
});

function notice(name) {
  for (const element of document.querySelectorAll(".notice")) element.hidden = element.id !== name;
}

// On a phone the drawing stays in sight as a strip; a tap opens the paper again.
const book = find("#book");
addEventListener("scroll", () => {
  const away = innerWidth <= 896 && innerHeight > innerWidth && scrollY > book.offsetTop + book.offsetHeight - 96;
  if (away === document.body.matches(".strip")) return;
  book.style.blockSize = away ? `${book.offsetHeight}px` : "";
  document.body.classList.toggle("strip", away);
  find("#reopen").hidden = !away;
}, { passive: true });
find("#reopen").addEventListener("click", () => scrollTo({ top: 0 }));

restore(pad, find("#words"));
await look();
showState();
search();
