// The worker in which a published collection is searched: it fetches the index in parts, opens it in the engine, and
// answers one search at a time. Whatever a file claims is compared with what it holds before it is used.
//
// Of a large collection the codes stay on the host: what the icon network sees in each picture, in half a byte a number, says
// which pictures a search looks at, and their codes come by range requests.
import { Names } from "./names.js";
import { Pieces } from "./pieces.js";

const FORMAT = "sketchseek site 2";
const HALVES = 64; // bytes of what the icon network sees in a picture, in half a byte a number
const MOST_BYTES = 2 ** 30; // what an index may take in memory
const AT_ONCE = 2; // pictures of a large collection whose records come together
const SHORTLIST = 160; // pictures of a large collection that a search looks at
const NAMED = 100; // and so many of those whose names match best
const WORTH_PARTING = 2 ** 24; // bytes of codes from which on several workers are faster than one
// The smallest module with a relaxed instruction: whether it is one says whether the browser has them.
const RELAXED = new Uint8Array([
  0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 15, 1, 13, 0, 65, 0, 253, 15, 65, 0, 253, 15,
  253, 128, 2, 11,
]);
// Beside this script, whose calls they answer.
const ENGINES = {
  plain: new URL("./sketchseek.wasm", import.meta.url),
  relaxed: new URL("./sketchseek-relaxed.wasm", import.meta.url),
};

let engine = null; // the exports of the WebAssembly module
let meaning = null; // what its numbers mean: `describe_core` of the engine
let asked = false; // there was a search
let seeing = null; // the promise that the icon network and the pictures' embeddings come, once they are wanted
let icons = null; // where they are: { site, network, embeddings, pictures }
let labelled = null; // names and other labels of the pictures, by columns
let names = null; // the same, to be found by words: made when some are first searched for
let large = null; // of a large collection: { records, sizes, dimensions }

class Unfit extends Error {} // with a sentence for the person at the page

const NO_MEMORY = "There is not enough memory for the index.";

const whole = (value, most) => Number.isSafeInteger(value) && value >= 0 && value <= most;

function require(holds, sentence) {
  if (!holds) throw new Unfit(sentence);
}

/** What the network gives, or the sentence for when it gives nothing. */
const fromNetwork = (promise) => promise.catch(() => {
  throw Object.assign(new Unfit("The site does not answer. Are you offline?"), { status: 0 });
});

/** The bytes of a file of the site; `tell` hears how many have come. */
async function fetched(address, size, tell) {
  const response = await fromNetwork(fetch(address));
  require(response.ok, `A file of the index is missing (${response.status}).`);
  const bytes = new Uint8Array(size);
  let at = 0;
  const reader = response.body.getReader();
  const next = () => fromNetwork(reader.read());
  for (let piece = await next(); !piece.done; piece = await next()) {
    require(at + piece.value.length <= size, "A file of the index is longer than it should be.");
    bytes.set(piece.value, at);
    at += piece.value.length;
    tell(piece.value.length);
  }
  require(at === size, "A file of the index is cut short.");
  return bytes;
}

/** What gzip packed, of a size that is known; its checksum is compared on the way. */
async function unpacked(bytes, size) {
  const out = new Uint8Array(size);
  let at = 0;
  try {
    const packed = new ReadableStream({ start: (stream) => { stream.enqueue(bytes); stream.close(); } });
    const reader = packed.pipeThrough(new DecompressionStream("gzip")).getReader();
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
      if (at + piece.value.length > size) throw new RangeError();
      out.set(piece.value, at);
      at += piece.value.length;
    }
  } catch {
    throw new Unfit("A file of the index is damaged.");
  }
  require(at === size, "A file of the index is damaged.");
  return out;
}

/** The manifest, if everything in it is what it should be. */
function checked(manifest) {
  const sentence = "The index's description is not one.";
  require(manifest && typeof manifest === "object" && typeof manifest.format === "string", sentence);
  require(manifest.format === FORMAT, "The index was published by another version of sketchseek.");
  const { pictures, rows, different, dimensions, synthetic, codes, tables, names, thumbnails } = manifest;
  const isFile = (part) => /^data\/[a-z]+-[0-9a-f]+\.bin$/.test(part?.file) && whole(part.bytes, MOST_BYTES);
  const isPacked = (part) => isFile(part) && whole(part.unpacked, MOST_BYTES);
  const arePieces = (list) => Array.isArray(list) && list.every((part) => isFile(part) && whole(part.pictures, pictures)) &&
    list.reduce((sum, part) => sum + part.pictures, 0) === pictures;
  require(whole(pictures, 1e8) && whole(rows, 1e8) && whole(dimensions, 1e5) && whole(synthetic, 1000), sentence);
  require(whole(different, rows), sentence);
  require(Array.isArray(codes) && arePieces(thumbnails), sentence);
  for (const name of ["records", "originals"]) require(arePieces((manifest[name] ??= null) ?? thumbnails), sentence);
  const isLarge = Boolean(manifest.records);
  require([...codes, tables, names].every(isPacked), sentence);
  manifest.icons ??= null; // a collection of something else, or published before there were any
  require(!manifest.icons || [manifest.icons.network, manifest.icons.embeddings].every(isPacked), sentence);
  require(!manifest.icons || manifest.icons.embeddings.unpacked % pictures === 0, sentence);
  require(!isLarge || manifest.icons?.embeddings.unpacked === pictures * HALVES, sentence);
  require(((isLarge ? different : rows) + synthetic) * dimensions <= MOST_BYTES, "The index is too large for a browser.");
  const sizes = codes.every((part) => whole(part.rows, different) && part.unpacked === part.rows * dimensions);
  require(sizes && codes.reduce((sum, part) => sum + part.rows, 0) === different, sentence);
  const lengths = manifest.originals ? 8 : 4;
  require(tables.unpacked === pictures * (16 + lengths) + (isLarge ? 0 : rows * 20) + synthetic * dimensions, sentence);
  for (const list of [manifest.settings, manifest.model]) {
    require(Array.isArray(list) && list.length < 1e5 && list.every(Number.isFinite), sentence);
  }
  manifest.begin ??= { pictures: [], examples: [] }; // a site that was published before there was one
  require(isBeginning(manifest.begin, pictures), sentence);
  return manifest;
}

/** Whether the pictures and drawings that the page begins with are some of the collection, and drawings. */
function isBeginning(begin, count) {
  const isPicture = (number) => whole(number, count - 1);
  const isPoint = (point) => Array.isArray(point) && point.length === 2 && point.every(Number.isFinite);
  const isLine = (line) => Array.isArray(line) && line.length > 0 && line.length < 1e4 && line.every(isPoint);
  const isDrawing = (strokes) => Array.isArray(strokes) && strokes.length > 0 && strokes.length < 100 && strokes.every(isLine);
  return Array.isArray(begin?.pictures) && begin.pictures.length < 100 && begin.pictures.every(isPicture) &&
    Array.isArray(begin.examples) && begin.examples.length < 100 &&
    begin.examples.every((example) => isPicture(example?.number) && isDrawing(example.strokes));
}

/** Names, titles and links of the pictures. */
function labels(bytes, count) {
  const sentence = "The names of the pictures are damaged.";
  let columns;
  try {
    columns = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw new Unfit(sentence);
  }
  const isColumn = (list) => Array.isArray(list) && list.length === count && list.every((text) => typeof text === "string");
  require(isColumn(columns?.picture), sentence);
  for (const name of ["title", "link", "canvas", "manifest"]) require(columns[name] === undefined || isColumn(columns[name]), sentence);
  // A link that is a script would run in the page.
  const isSafe = (link) => !link || /^(https?:|[^:]*$|[^:]*[/?#])/i.test(link);
  require(!columns.link || columns.link.every(isSafe), "The index has a link that is not the address of a page.");
  for (const name of ["set", "licence"]) {
    const { values, of } = columns[name] ?? { values: [], of: Array(count).fill(-1) };
    require(Array.isArray(values) && values.every((text) => typeof text === "string") && Array.isArray(of) && of.length === count &&
      of.every((number) => Number.isInteger(number) && number >= -1 && number < values.length), sentence);
  }
  const { picture, title = null, link = null, canvas = null, manifest = null, set = null, licence = null } = columns;
  return { picture, title, link, canvas, manifest, set, licence };
}

async function start() {
  const response = await fromNetwork(fetch(WebAssembly.validate(RELAXED) ? ENGINES.relaxed : ENGINES.plain));
  require(response.ok, `The engine is missing (${response.status}).`);
  const nothing = () => 0;
  const imports = { wasi_snapshot_preview1: new Proxy({}, { get: () => nothing }) };
  const { instance } = await WebAssembly.instantiate(await fromNetwork(response.arrayBuffer()), imports);
  instance.exports._initialize?.();
  return instance.exports;
}

/** An address in the engine's memory: half of them come as negative numbers. */
const unsigned = (number) => number >>> 0;

/** Room in the engine's memory, and an array over it: other allocations may move the memory, so only for now. */
function array(Type, count) {
  const at = unsigned(engine.allocate(Math.max(1, count * Type.BYTES_PER_ELEMENT)));
  require(at !== 0, NO_MEMORY);
  return { at, count, view: () => new Type(engine.memory.buffer, at, count) };
}

function filled(Type, values) {
  const made = array(Type, values.length);
  made.view().set(values);
  return made;
}

/** The sentence at an address in the engine's memory; null for none. */
function sentence(number) {
  const at = unsigned(number);
  if (!at) return null;
  const memory = new Uint8Array(engine.memory.buffer);
  return new TextDecoder().decode(memory.slice(at, memory.indexOf(0, at)));
}

/** The codes of all rows, from parts of those that differ. */
function laidOut(parts, { rows, dimensions, codes }, which) {
  const stored = array(Int8Array, rows * dimensions);
  const chosen = filled(Int32Array, which);
  let begin = 0;
  parts.forEach((part, i) => {
    const packed = filled(Int8Array, new Int8Array(part.buffer));
    engine.lay_out(packed.at, begin, codes[i].rows, dimensions, chosen.at, rows, stored.at);
    begin += codes[i].rows;
    engine.release(packed.at);
  });
  engine.release(chosen.at);
  return stored;
}

/** Open what lies in the engine's memory. */
function opened({ settings, model, synthetic }, { sizes, frames, stored, empty }) {
  const [numbers, judge] = [settings, model].map((list) => filled(Float64Array, list));
  const table = filled(Int32Array, sizes);
  const fault = sentence(engine.open(numbers.at, numbers.count, judge.at, judge.count, table.at, table.count / 4,
    frames.at, stored.at, frames.count / 4, empty.at, synthetic));
  for (const { at } of [numbers, judge, table]) engine.release(at);
  require(!fault, fault);
}

/** Where a collection is parted, so that each of `count` workers has about as many rows: numbers of pictures. */
function borders(sizes, rows, count) {
  const found = [0];
  let before = 0;
  for (let i = 0; i < sizes.length / 4; i++) {
    if (before >= (found.length * rows) / count) found.push(i);
    before += sizes[4 * i + 3];
  }
  return [...found, sizes.length / 4];
}

/** What each of some workers needs to scan its part of the collection. */
function slices(manifest, sizes, { frames, stored }, count) {
  const { rows, dimensions, settings, model } = manifest;
  const at = borders(sizes, rows, count);
  let begin = 0;
  return at.slice(1).map((last, i) => {
    const own = sizes.slice(4 * at[i], 4 * last);
    let end = begin;
    for (let k = 3; k < own.length; k += 4) end += own[k];
    const slice = {
      first: begin, settings, model, sizes: own,
      frames: frames.view().slice(4 * begin, 4 * end), codes: stored.view().slice(dimensions * begin, dimensions * end),
    };
    begin = end;
    return slice;
  });
}

/** Open a part of a collection, to scan it. */
async function openSlice({ slice }) {
  engine = await start();
  opened({ ...slice, synthetic: 0 }, {
    sizes: slice.sizes, frames: filled(Float32Array, slice.frames), stored: filled(Int8Array, slice.codes),
    empty: filled(Int8Array, []),
  });
  return {};
}

/** workers: how many are to scan the collection; by default `most` for a large one. */
async function open({ site, workers, most }) {
  const response = await fromNetwork(fetch(new URL("index.json", site)));
  require(response.ok, `There is no published index here (${response.status}).`);
  const manifest = checked(await response.json().catch(() => {
    throw new Unfit("The index's description is not one.");
  }));
  const { pictures, dimensions, synthetic } = manifest;
  const isLarge = Boolean(manifest.records);
  const files = [...manifest.codes, manifest.tables, manifest.names, ...(isLarge ? Object.values(manifest.icons) : [])];
  const total = files.reduce((sum, part) => sum + part.bytes, 0);
  let come = 0;
  const tell = (more) => postMessage({ progress: (come += more) / total });
  const bytesOf = async (part) => unpacked(await fetched(new URL(part.file, site), part.bytes, tell), part.unpacked);
  icons = manifest.icons && { ...manifest.icons, site, pictures };
  const seen = isLarge ? Promise.all([manifest.icons.network, manifest.icons.embeddings].map(bytesOf)) : null;
  const [module, tables, called, ...codes] = await Promise.all([
    start(), bytesOf(manifest.tables), bytesOf(manifest.names), ...manifest.codes.map(bytesOf),
  ]);
  engine = module;
  meaning = JSON.parse(sentence(engine.description()));
  require(manifest.evidence?.join() === meaning.evidence.join(), "The index was published by another version of sketchseek.");
  let at = 0;
  const next = (Type, count) => {
    const values = new Type(tables.buffer.slice(at, at + count * Type.BYTES_PER_ELEMENT));
    at += count * Type.BYTES_PER_ELEMENT;
    return values;
  };
  const columns = next(Int32Array, pictures * 4);
  const sizes = columns.map((_, i) => columns[(i % 4) * pictures + Math.floor(i / 4)]);
  const lengths = [next(Int32Array, pictures), manifest.originals && next(Int32Array, pictures)];
  [manifest.thumbnails, manifest.originals].forEach((parts, i) =>
    require(!parts || Pieces.fit(parts, lengths[i]), "The index's thumbnails are damaged."));
  require(dimensions === (2 * manifest.settings[0] - 1) ** 2 * (2 * manifest.settings[1] - 1),
    "The index's description is not one.");
  // Of a large collection, the first rows of some pictures say what an ordinary score is.
  const rows = isLarge ? manifest.different : manifest.rows;
  const which = isLarge ? Int32Array.from({ length: rows }, (_, i) => i) : next(Int32Array, rows);
  require(which.every((code) => code >= 0 && code < manifest.different), "The index's description is not one.");
  const stored = laidOut(codes, { ...manifest, rows }, which);
  const frames = filled(Float32Array, isLarge ? new Float32Array(rows * 4) : next(Float32Array, rows * 4));
  const empty = filled(Int8Array, next(Int8Array, synthetic * dimensions));
  opened(manifest, { sizes: isLarge ? new Int32Array(rows * 4).fill(1) : sizes, frames, stored, empty });
  labelled = { ...labels(called, pictures), sizes };
  if (isLarge) {
    const length = (_, i) => recordBytes(sizes[4 * i + 3], dimensions);
    const records = Int32Array.from({ length: pictures }, length);
    require(Pieces.fit(manifest.records, records), "The index's description is not one.");
    large = { records: new Pieces(site, manifest.records, records, AT_ONCE), sizes, dimensions };
    await see(seen);
  }
  const count = workers ?? (!isLarge && rows * dimensions >= WORTH_PARTING ? most : 1);
  if (!isLarge) setTimeout(warmUp, 100);
  return {
    slices: count > 1 && !isLarge ? slices(manifest, sizes, { frames, stored }, count) : [],
    pictures, sees: Boolean(icons) && !isLarge, isLarge, title: String(manifest.title ?? ""), version: String(manifest.version ?? ""),
    sizes, lengths, begin: manifest.begin, thumbnails: manifest.thumbnails, originals: manifest.originals, labels: { ...labelled, sizes: null },
  };
}

/** What the icon network says is part of every search from when this is done. False where there is none to come. */
function see(coming = null) {
  if (!icons) return false;
  seeing ??= (async () => {
    const { network, embeddings, site, pictures } = icons;
    const bytesOf = async (part) => unpacked(await fetched(new URL(part.file, site), part.bytes, () => {}), part.unpacked);
    const [weights, columns] = await (coming ?? Promise.all([network, embeddings].map(bytesOf)));
    const [learned, packed] = [weights, columns].map((bytes) => filled(Uint8Array, bytes));
    const given = [learned, packed];
    const rows = array(Int8Array, pictures * 2 * HALVES);
    if (coming) engine.widen(packed.at, columns.length, rows.at);
    else {
      given.push(filled(Int32Array, Int32Array.from({ length: pictures }, (_, i) => i)));
      engine.lay_out(packed.at, 0, pictures, columns.length / pictures, given[2].at, pictures, rows.at);
    }
    const fault = sentence(engine.open_icons(learned.at, learned.count, rows.at, pictures));
    for (const { at } of given) engine.release(at);
    require(!fault, fault);
    return true;
  })();
  seeing.catch(() => { seeing = null; }); // to be tried again
  return seeing;
}

/** Ask the engine: `call(...arguments)` has its own of them after the common ones. */
function ask(call, { strokes, k, offset, mirror, turn }, ...more) {
  require(engine, "No collection is open.");
  const points = filled(Float64Array, strokes.flat(2));
  const lengths = filled(Int32Array, strokes.map((stroke) => stroke.length));
  try {
    const fault = sentence(call(points.at, lengths.at, lengths.count, k, offset, mirror ? 1 : 0, turn, ...more));
    if (fault) throw Object.assign(new Unfit(fault), { status: 422 });
  } finally {
    engine.release(points.at);
    engine.release(lengths.at);
  }
}

/** What the engine has said: places of the best pictures, a number for each of `fields`, the chances that the thing is there at
 *  all and that the first page has it, and what is said of both. `numberOf`: the picture that the engine calls by a number. */
function answered(numberOf = (number) => number) {
  const count = engine.places_count() * meaning.place.length;
  const places = new Float64Array(engine.memory.buffer, unsigned(engine.places()), count).slice();
  const picture = meaning.place.indexOf("picture");
  for (let at = picture; at < places.length; at += meaning.place.length) places[at] = numberOf(places[at]);
  return {
    present: engine.present(), firstPage: engine.first_page(), verdict: meaning.verdicts[engine.verdict()], places,
    fields: meaning.place,
  };
}

/** Do something with arrays in the engine's memory, which are gone afterwards; null stays null. */
function lent(arrays, use) {
  const made = arrays.map((values) => values && filled(values.constructor, values));
  try {
    return use(made.map((one) => one?.at ?? 0));
  } finally {
    for (const one of made) if (one) engine.release(one.at);
  }
}

/** The numbers of the pictures of a set or under a licence, ascending; null for all. */
function amongOf(only) {
  const wanted = Object.entries(only ?? {}).filter(([, value]) => value);
  if (!wanted.length) return null;
  const columns = wanted.map(([name, value]) => [labelled[name]?.of ?? [], labelled[name]?.values.indexOf(value) ?? -1]);
  const found = [];
  labelled.picture.forEach((_, i) => columns.every(([of, number]) => number >= 0 && of[i] === number) && found.push(i));
  return Int32Array.from(found);
}

/** The best pictures for strokes, words, or both. rows: what the workers that scan have found. only: { set, licence }. */
async function search({ rows, words, only, ...query }) {
  asked = true;
  const among = amongOf(only);
  let called = null;
  if (words && Names.asks(words)) {
    names ??= new Names(labelled, meaning);
    called = names.search(words);
    if (among) {
      const kept = new Float32Array(called.scores.length);
      for (const i of among) kept[i] = called.scores[i];
      called.scores = kept;
    }
    called.any = called.scores.some(Boolean);
  }
  const heard = called?.any ? called.scores : null;
  let answer;
  if (!query.strokes.length) answer = byNames(query, called);
  else if (among && !among.length) answer = nothing();
  else if (large) answer = await searchPart(query, heard, among);
  else {
    answer = lent([rows && Int32Array.from(rows), heard, among], ([row, name, some]) => {
      ask(engine.search, query, row, rows?.length ?? 0, name, some, among?.length ?? 0);
      return answered();
    });
  }
  if (called?.any) {
    const at = meaning.place.indexOf("picture");
    answer.matched = {};
    for (let i = at; i < answer.places.length; i += meaning.place.length) {
      if (called.scores[answer.places[i]]) answer.matched[answer.places[i]] = called.matched.get(answer.places[i]);
    }
  } else if (called) {
    answer.note = `No picture is called \u201c${words.trim().slice(0, 60)}\u201d: ` +
      (query.strokes.length ? "the drawing was searched for without it." : "nothing was searched for.");
  }
  return answer;
}

const nothing = () => ({ present: 0, firstPage: 0, verdict: meaning.verdicts[1], places: new Float64Array(0), fields: meaning.place });

/** The pictures that words alone find: whole ones, those first whose names match best. */
function byNames({ k, offset }, called) {
  if (!called) throw Object.assign(new Unfit("Draw something, or say it in words."), { status: 422 });
  const { scores } = called;
  const best = [...scores.keys()].filter((i) => scores[i] > 0).sort((a, b) => scores[b] - scores[a] || a - b);
  if (!best.length) return nothing();
  const chance = (i) => names.chance(scores[i]);
  const sizes = labelled.sizes;
  const places = best.slice(offset, offset + k).flatMap((picture, hit) => {
    const place = {
      hit, picture, score: 0, confidence: chance(picture), scale: 1, mirrored: 0, rotation: 0, dx: 0, dy: 0,
      x0: 0, y0: 0, x1: sizes[4 * picture], y1: sizes[4 * picture + 1],
    };
    return meaning.place.map((name) => place[name]);
  });
  const present = chance(best[0]);
  return {
    present, firstPage: present, verdict: meaning.verdicts[present >= meaning.names.likely ? 0 : 1],
    places: Float64Array.from(places), fields: meaning.place,
  };
}

/** Bytes that are kept of a picture with so many rows: what the icon network sees, then codes and frames of the rows. */
const recordBytes = (rows, dimensions) => 2 * HALVES + rows * (dimensions + 16);

/** Search a large collection: among the pictures that resemble the drawing most, and those whose names match best. */
async function searchPart({ k, offset, ...query }, heard, among) {
  const most = Math.max(SHORTLIST, offset + k);
  const [resembling, named] = lent([among], ([some]) => {
    ask((points, lengths, count, _k, _offset, _mirror, turn) => engine.resemble(points, lengths, count, most, turn, some, among?.length ?? 0),
      { k, offset, ...query });
    const found = new Float64Array(engine.memory.buffer, unsigned(engine.scanned()), 2 * engine.scanned_count());
    const byName = heard ? [...heard.keys()].filter((i) => heard[i] > 0).sort((a, b) => heard[b] - heard[a] || a - b) : [];
    return [Array.from({ length: found.length / 2 }, (_, i) => found[2 * i]), byName.slice(0, Math.max(NAMED, offset + k))];
  });
  const numbers = [...new Set([...resembling, ...named])].sort((a, b) => a - b);
  if (offset >= numbers.length) return nothing();
  const { records, sizes, dimensions } = large;
  const bytes = await fromNetwork(records.get(numbers));
  const rows = numbers.map((number) => sizes[4 * number + 3]);
  const total = rows.reduce((sum, count) => sum + count, 0);
  const parts = [Int32Array.from(numbers.flatMap((n) => [...sizes.subarray(4 * n, 4 * n + 4)])), new Float32Array(4 * total),
    new Int8Array(total * dimensions), new Int8Array(2 * HALVES * numbers.length)];
  let row = 0;
  bytes.forEach((record, i) => {
    const codes = rows[i] * dimensions;
    parts[3].set(new Int8Array(record.buffer, record.byteOffset, 2 * HALVES), 2 * HALVES * i);
    parts[2].set(new Int8Array(record.buffer, record.byteOffset + 2 * HALVES, codes), row * dimensions);
    parts[1].set(new Float32Array(record.slice(2 * HALVES + codes).buffer), 4 * row);
    row += rows[i];
  });
  return lent([...parts, heard && Float32Array.from(numbers, (n) => heard[n])], ([table, frames, codes, seen, name]) => {
    const fault = sentence(engine.open_part(table, numbers.length, frames, codes, total, seen));
    require(!fault, fault);
    ask(engine.search_part, { k, offset, ...query }, name);
    return answered((number) => numbers[number]);
  });
}

/** Rows of this worker's part, best first, and their scores: one after the other. */
function scan(query) {
  asked = true;
  ask(engine.scan, query);
  return new Float64Array(engine.memory.buffer, unsigned(engine.scanned()), 2 * engine.scanned_count()).slice();
}

/** Search once for nothing in particular: browsers compile well what they have seen run. */
function warmUp() {
  try {
    if (!asked) ask(engine.search, { strokes: [[[0, 0], [9, 2], [5, 8], [0, 0]]], k: 20, offset: 0, mirror: true, turn: 0 }, 0, 0, 0, 0, 0);
  } catch {
    // There was no search yet; one is told what is wrong.
  }
}

/** Whether memory was asked for in vain: by this script, for an array or an engine, or by the engine itself. */
function hasStarved(problem) {
  return problem instanceof RangeError || Boolean(problem instanceof WebAssembly.RuntimeError && engine?.starved?.());
}

const TASKS = { open, openSlice, scan, search, see: () => see() };

addEventListener("message", async ({ data: { id, task, ...given } }) => {
  try {
    const answer = await TASKS[task](given);
    const parts = (answer.slices ?? []).flatMap(({ codes, frames }) => [codes.buffer, frames.buffer]);
    postMessage({ id, answer }, parts);
  } catch (problem) {
    const known = problem instanceof Unfit;
    const unknown = hasStarved(problem) ? NO_MEMORY : "The engine could not do that: the index may be damaged.";
    const message = known ? problem.message : unknown;
    postMessage({ id, problem: { message, status: problem.status ?? 500, cause: known ? undefined : String(problem) } });
  }
});
