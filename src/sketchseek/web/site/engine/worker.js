// The worker in which a published collection is searched: it fetches the index in parts, opens it in the engine, and
// answers one search at a time. Whatever a file claims is compared with what it holds before it is used.

const FORMAT = "sketchseek site 1";
const MOST_BYTES = 2 ** 30; // what an index may take in memory
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
let asked = false; // somebody has searched
let seeing = null; // the promise that the icon network and the pictures' embeddings come, once somebody wants them
let icons = null; // where they are: { site, network, embeddings, pictures }

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
  require(whole(pictures, 1e8) && whole(rows, 1e8) && whole(dimensions, 1e5) && whole(synthetic, 1000), sentence);
  require(whole(different, rows), sentence);
  require(Array.isArray(codes) && Array.isArray(thumbnails) && thumbnails.every(isFile), sentence);
  require([...codes, tables, names].every(isPacked), sentence);
  manifest.icons ??= null; // a collection of something else, or published before there were any
  require(!manifest.icons || [manifest.icons.network, manifest.icons.embeddings].every(isPacked), sentence);
  require(!manifest.icons || manifest.icons.embeddings.unpacked % pictures === 0, sentence);
  require((rows + synthetic) * dimensions <= MOST_BYTES, "The index is too large for a browser.");
  const sizes = codes.every((part) => whole(part.rows, different) && part.unpacked === part.rows * dimensions);
  require(sizes && codes.reduce((sum, part) => sum + part.rows, 0) === different, sentence);
  require(tables.unpacked === pictures * 28 + rows * 20 + synthetic * dimensions, sentence);
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
  return { picture: columns.picture, title: columns.title ?? null, link: columns.link ?? null, canvas: columns.canvas ?? null, manifest: columns.manifest ?? null };
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

/** workers: how many are to scan the collection; where nobody says, `most` for a large one. */
async function open({ site, workers, most }) {
  const response = await fromNetwork(fetch(new URL("index.json", site)));
  require(response.ok, `There is no published index here (${response.status}).`);
  const manifest = checked(await response.json().catch(() => {
    throw new Unfit("The index's description is not one.");
  }));
  const { pictures, rows, dimensions, synthetic } = manifest;
  const files = [...manifest.codes, manifest.tables, manifest.names];
  const total = files.reduce((sum, part) => sum + part.bytes, 0);
  let come = 0;
  const tell = (more) => postMessage({ progress: (come += more) / total });
  const bytesOf = async (part) => unpacked(await fetched(new URL(part.file, site), part.bytes, tell), part.unpacked);
  const [module, tables, names, ...codes] = await Promise.all([
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
  const sizes = next(Int32Array, pictures * 4);
  const places = next(Int32Array, pictures * 3);
  const which = next(Int32Array, rows);
  require(which.every((code) => code >= 0 && code < manifest.different), "The index's description is not one.");
  const stored = laidOut(codes, manifest, which);
  const frames = filled(Float32Array, next(Float32Array, rows * 4));
  const empty = filled(Int8Array, next(Int8Array, synthetic * dimensions));
  const lengths = manifest.thumbnails.map((part) => part.bytes);
  for (let i = 0; i < places.length; i += 3) {
    const [part, begin, end] = places.subarray(i, i + 3);
    require(begin >= 0 && begin <= end && end <= (lengths[part] ?? -1), "The index's thumbnails are damaged.");
  }
  require(dimensions === (2 * manifest.settings[0] - 1) ** 2 * (2 * manifest.settings[1] - 1),
    "The index's description is not one.");
  opened(manifest, { sizes, frames, stored, empty });
  icons = manifest.icons && { ...manifest.icons, site, pictures };
  const count = workers ?? (rows * dimensions >= WORTH_PARTING ? most : 1);
  setTimeout(warmUp, 100);
  return {
    slices: count > 1 ? slices(manifest, sizes, { frames, stored }, count) : [],
    pictures, sees: Boolean(icons), title: String(manifest.title ?? ""), version: String(manifest.version ?? ""), sizes, places, begin: manifest.begin,
    thumbnails: manifest.thumbnails.map((part) => part.file), labels: labels(names, pictures),
  };
}

/** What the icon network says is part of every search from when this is done. False where there is none to come. */
function see() {
  if (!icons) return false;
  seeing ??= (async () => {
    const { network, embeddings, site, pictures } = icons;
    const bytesOf = async (part) => unpacked(await fetched(new URL(part.file, site), part.bytes, () => {}), part.unpacked);
    const [weights, columns] = await Promise.all([network, embeddings].map(bytesOf));
    const [learned, packed] = [weights, columns].map((bytes) => filled(Uint8Array, bytes));
    const rows = array(Int8Array, columns.length), all = filled(Int32Array, Int32Array.from({ length: pictures }, (_, i) => i));
    engine.lay_out(packed.at, 0, pictures, columns.length / pictures, all.at, pictures, rows.at);
    const fault = sentence(engine.open_icons(learned.at, learned.count, rows.at, pictures));
    for (const { at } of [learned, packed, all]) engine.release(at);
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

/** Places of the best pictures, a number for each of `fields`, the chances that the thing is there at all and that the first
 *  page has it, and what is said of both. rows: what the
 *  workers that scan have found. */
function search({ rows, ...query }) {
  asked = true;
  const given = rows && filled(Int32Array, rows);
  try {
    ask(engine.search, query, given?.at ?? 0, given?.count ?? 0);
  } finally {
    if (given) engine.release(given.at);
  }
  const count = engine.places_count() * meaning.place.length;
  const places = new Float64Array(engine.memory.buffer, unsigned(engine.places()), count).slice();
  return {
    present: engine.present(), firstPage: engine.first_page(), verdict: meaning.verdicts[engine.verdict()], places,
    fields: meaning.place,
  };
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
    if (!asked) search({ strokes: [[[0, 0], [9, 2], [5, 8], [0, 0]]], k: 20, offset: 0, mirror: true, turn: 0 });
  } catch {
    // Nobody has asked; who does is told what is wrong.
  }
}

/** Whether memory was asked for in vain: by this script, for an array or an engine, or by the engine itself. */
function hasStarved(problem) {
  return problem instanceof RangeError || Boolean(problem instanceof WebAssembly.RuntimeError && engine?.starved?.());
}

const TASKS = { open, openSlice, scan, search, see };

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
