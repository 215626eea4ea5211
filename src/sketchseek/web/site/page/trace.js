// A drawing in a file -> strokes, without a server: lines become their middle, solid shapes their outline. The steps are
// those of contours/bitmap.py for even ground, in less detail; photographs are left to the server.
import { Problem } from "../collection.js";
import { simplify } from "./geometry.js";

const SIDE = 512; // a drawing is thinned at this size
const STRONG = 0.55, FAINT = 0.3; // ink starts where it is strong, and goes on where it is faint
const THICK = 0.06; // of the drawing's extent: what is thicker on either side of its middle is no line
const SPECK = 0.012; // of the drawing's extent: smaller pieces are crumbs
const SPUR = 6; // pixels: a shorter branch comes from thinning
const SMOOTH = 4; // pixels either way over which a staircase becomes a curve
const MOST_BYTES = 2 ** 26;
const AROUND = [[1, 0], [0, 1], [-1, 0], [0, -1], [1, 1], [-1, 1], [-1, -1], [1, -1]]; // the nearer ones first

/** The strokes in a picture, SVG or JSON file: { strokes, photograph }. */
export async function trace(file) {
  if (file.size > MOST_BYTES) throw new Problem("The file is too large for a drawing.", 422);
  const head = (await file.slice(0, 64).text()).trimStart();
  if (head.startsWith("{") || head.startsWith("[")) return { strokes: parsed(await file.text()), photograph: false };
  const { data, width, height } = await pixels(file);
  const grey = greyOf(data);
  if (!isEven(grey)) {
    throw new Problem("This looks like a photograph: here, only drawings on even ground can be traced.", 422);
  }
  const page = new Page(width, height);
  const strokes = page.strokes(page.withoutSpecks(page.inked(grey)));
  if (!strokes.length) throw new Problem("The drawing is blank: there is no line on it.", 422);
  return { strokes, photograph: false };
}

function parsed(text) {
  try {
    const document = JSON.parse(text);
    const strokes = document.strokes ?? document.drawing?.map(([xs, ys]) => xs.map((x, i) => [x, ys[i]])) ?? document;
    const lines = strokes.map((stroke) => stroke.map(([x, y]) => [Number(x), Number(y)])).filter((line) => line.length);
    if (lines.length && lines.flat(2).every(Number.isFinite)) return lines;
  } catch { /* said below */ }
  throw new Problem("The file is not a drawing in JSON.", 422);
}

async function pixels(file) {
  const address = URL.createObjectURL(file.type ? file : new Blob([file], { type: "image/svg+xml" }));
  try {
    const image = Object.assign(new Image(), { src: address });
    await image.decode();
    const scale = SIDE / Math.max(image.naturalWidth || SIDE, image.naturalHeight || SIDE);
    const canvas = document.createElement("canvas");
    canvas.width = Math.max(1, Math.round((image.naturalWidth || SIDE) * scale));
    canvas.height = Math.max(1, Math.round((image.naturalHeight || SIDE) * scale));
    const context = canvas.getContext("2d");
    context.imageSmoothingQuality = "high";
    context.drawImage(image, 0, 0, canvas.width, canvas.height);
    return context.getImageData(0, 0, canvas.width, canvas.height);
  } catch {
    throw new Problem("The file is not a picture that this browser can show.", 422);
  } finally {
    URL.revokeObjectURL(address);
  }
}

/** 0 to 255. What is drawn in one colour on nothing is ink, whichever colour that is. */
function greyOf(data) {
  const count = data.length / 4;
  const grey = new Uint8Array(count);
  let [sum, first, second, opaque] = [0, 0, 0, true];
  for (let i = 0; i < count; i++) {
    const value = 0.299 * data[4 * i] + 0.587 * data[4 * i + 1] + 0.114 * data[4 * i + 2], alpha = data[4 * i + 3] / 255;
    opaque &&= alpha > 0.98;
    sum += alpha;
    first += alpha * value;
    second += alpha * value * value;
    grey[i] = 255 - alpha * (255 - value);
  }
  const spread = sum > 2 ? Math.sqrt(Math.max(second / sum - (first / sum) ** 2, 0)) : 0;
  if (!opaque && spread < 40) for (let i = 0; i < count; i++) grey[i] = 255 - data[4 * i + 3];
  return grey;
}

function counted(grey) {
  const counts = new Float64Array(256);
  for (const value of grey) counts[value]++;
  return counts;
}

/** Whether two levels, give or take a little, make up the drawing. */
function isEven(grey) {
  const counts = counted(grey);
  const heaviest = () => {
    let best = [0, 0];
    for (let middle = 0; middle < 256; middle++) {
      const sum = counts.subarray(Math.max(0, middle - 8), middle + 9).reduce((a, b) => a + b, 0);
      if (sum > best[0]) best = [sum, middle];
    }
    return best;
  };
  const [first, middle] = heaviest();
  counts.fill(0, Math.max(0, middle - 8), middle + 9);
  return first + heaviest()[0] > 0.6 * grey.length;
}

/** The level that best parts dark from light. */
function otsu(counts) {
  const total = counts.reduce((a, b) => a + b, 0), moment = counts.reduce((sum, count, i) => sum + i * count, 0);
  let [below, dark, best, level] = [0, 0, -1, 0];
  for (let i = 0; i < 255; i++) {
    below += counts[i];
    dark += i * counts[i];
    if (!below || below === total) continue;
    const between = (moment * below - dark * total) ** 2 / (below * (total - below));
    if (between > best) [best, level] = [between, i];
  }
  return level;
}

/** The level below which lies that share of what was counted. */
function quantile(counts, share) {
  const wanted = share * counts.reduce((a, b) => a + b, 0);
  let sum = 0;
  return Math.max(0, counts.findIndex((count) => (sum += count) >= wanted));
}

/** Masks of one size, a byte a pixel. */
class Page {
  constructor(width, height) {
    [this.width, this.height] = [width, height];
  }

  /** The number of the pixel that lies so far from another; -1 outside. */
  #at(i, dx, dy) {
    const x = (i % this.width) + dx, y = Math.floor(i / this.width) + dy;
    return x < 0 || y < 0 || x >= this.width || y >= this.height ? -1 : y * this.width + x;
  }

  #neighbours(mask, i) {
    return AROUND.map(([dx, dy]) => this.#at(i, dx, dy)).filter((j) => j >= 0 && mask[j]);
  }

  /** Ink: faint, where it is joined to strong. */
  inked(grey) {
    let counts = counted(grey);
    const mask = new Uint8Array(grey.length);
    if (counts.findLastIndex(Boolean) - counts.findIndex(Boolean) < 24) return mask;
    const level = otsu(counts);
    const border = grey.filter((_, i) => {
      const x = i % this.width, y = Math.floor(i / this.width);
      return x === 0 || y === 0 || x === this.width - 1 || y === this.height - 1;
    });
    const light = (values) => values.reduce((sum, value) => sum + (value > level), 0) / values.length;
    const isDark = light(grey) + light(border) >= 1; // ink on a light ground
    const values = isDark ? grey : grey.map((value) => 255 - value);
    if (!isDark) counts = counted(values);
    const split = isDark ? level : 254 - level;
    const paper = split + 1 + quantile(counts.subarray(split + 1), 0.5), full = quantile(counts.subarray(0, split + 1), 0.25);
    const ink = (i) => (paper - values[i]) / Math.max(paper - full, 1);
    for (const piece of this.#pieces((i) => ink(i) >= FAINT)) {
      if (piece.some((i) => ink(i) >= STRONG)) for (const i of piece) mask[i] = 1;
    }
    return mask;
  }

  /** Lists of pixels that hang together. */
  *#pieces(isIn) {
    const seen = new Uint8Array(this.width * this.height);
    for (let start = 0; start < seen.length; start++) {
      if (seen[start] || !isIn(start)) continue;
      const piece = [start];
      seen[start] = 1;
      for (let next = 0; next < piece.length; next++) {
        for (const [dx, dy] of AROUND) {
          const j = this.#at(piece[next], dx, dy);
          if (j >= 0 && !seen[j] && isIn(j)) {
            seen[j] = 1;
            piece.push(j);
          }
        }
      }
      yield piece;
    }
  }

  #extent(pixels) {
    let [x0, y0, x1, y1] = [Infinity, Infinity, -Infinity, -Infinity];
    for (const i of pixels) {
      const x = i % this.width, y = Math.floor(i / this.width);
      [x0, y0, x1, y1] = [Math.min(x0, x), Math.min(y0, y), Math.max(x1, x), Math.max(y1, y)];
    }
    return Math.max(x1 - x0, y1 - y0) + 1;
  }

  withoutSpecks(mask) {
    const pieces = [...this.#pieces((i) => mask[i])];
    const extents = pieces.map((piece) => this.#extent(piece));
    const least = Math.max(2, SPECK * Math.max(0, ...extents));
    pieces.forEach((piece, n) => extents[n] < least && piece.forEach((i) => { mask[i] = 0; }));
    return mask;
  }

  strokes(mask) {
    const all = [...mask.keys()].filter((i) => mask[i]);
    if (!all.length) return [];
    const thin = this.#thinned(this.#hollowed(mask, Math.max(4, THICK * this.#extent(all))));
    return this.#walked(thin).map((path) => simplify(this.#smooth(path), 0.5));
  }

  /** Distances, in pixels, to what is not in a mask; too long by less than a tenth. `border`: how far beyond the
   *  page's border that begins. */
  #distances(mask, border) {
    const { width, height } = this;
    const far = new Float32Array(mask.length);
    const look = (i, x, y, dx, dy, step) => {
      const inside = x + dx >= 0 && x + dx < width && y + dy >= 0 && y + dy < height;
      far[i] = Math.min(far[i], inside ? far[i + dy * width + dx] + step : border);
    };
    for (let i = 0; i < mask.length; i++) far[i] = mask[i] ? Infinity : 0;
    for (const sign of [-1, 1]) {
      for (let n = 0; n < mask.length; n++) {
        const i = sign < 0 ? n : mask.length - 1 - n, x = i % width, y = Math.floor(i / width);
        if (!mask[i]) continue;
        look(i, x, y, sign, 0, 1);
        look(i, x, y, 0, sign, 1);
        look(i, x, y, sign, sign, Math.SQRT2);
        look(i, x, y, -sign, sign, Math.SQRT2);
      }
    }
    return far;
  }

  /** Of what is thicker than a line, the outline alone. */
  #hollowed(mask, thick) {
    const far = this.#distances(mask, 1);
    const outside = far.map((distance) => distance <= thick);
    if (!outside.includes(0)) return mask;
    const solid = this.#distances(outside, Infinity); // from each pixel to the middle of something thick
    return mask.map((ink, i) => (ink && solid[i] <= thick + 1 ? far[i] <= 1 : ink));
  }

  /** Lines one pixel wide (Zhang and Suen). */
  #thinned(mask) {
    const ring = [[0, -1], [1, -1], [1, 0], [1, 1], [0, 1], [-1, 1], [-1, 0], [-1, -1]];
    let left = [...mask.keys()].filter((i) => mask[i]);
    for (let changed = true; changed;) {
      changed = false;
      for (const round of [0, 1]) {
        const gone = left.filter((i) => {
          const p = ring.map(([dx, dy]) => { const j = this.#at(i, dx, dy); return j >= 0 && mask[j] ? 1 : 0; });
          const count = p.reduce((a, b) => a + b, 0);
          if (count < 2 || count > 6) return false;
          if (p.filter((value, k) => !value && p[(k + 1) % 8]).length !== 1) return false;
          return round ? !(p[0] && p[2] && p[6]) && !(p[0] && p[4] && p[6]) : !(p[0] && p[2] && p[4]) && !(p[2] && p[4] && p[6]);
        });
        for (const i of gone) mask[i] = 0;
        if (gone.length) {
          changed = true;
          left = left.filter((i) => mask[i]);
        }
      }
    }
    return mask;
  }

  /** The lines of a thin mask as lists of points: from ends and crossings first, then the closed ones. */
  #walked(mask) {
    const paths = [];
    const used = new Set(); // steps from one pixel to the next
    const key = (a, b) => (a < b ? a * mask.length + b : b * mask.length + a);
    // A diagonal step beside a straight way round is no way of its own.
    const ways = (i) => {
      const near = this.#neighbours(mask, i);
      return near.filter((j) => {
        const [dx, dy] = [(j % this.width) - (i % this.width), Math.floor(j / this.width) - Math.floor(i / this.width)];
        return !dx || !dy || !(near.includes(this.#at(i, dx, 0)) || near.includes(this.#at(i, 0, dy)));
      });
    };
    const walk = (from, to) => {
      const path = [from, to];
      used.add(key(from, to));
      for (let on = ways(to); on.length === 2; on = ways(path.at(-1))) {
        const next = on.find((j) => !used.has(key(path.at(-1), j)));
        if (next === undefined) break;
        used.add(key(path.at(-1), next));
        path.push(next);
      }
      return path;
    };
    const pixels = [...mask.keys()].filter((i) => mask[i]);
    for (const closed of [false, true]) {
      for (const i of pixels) {
        const on = ways(i);
        if (!closed && on.length === 2) continue;
        for (const j of on) {
          if (used.has(key(i, j))) continue;
          const path = walk(i, j);
          const ends = [path[0], path.at(-1)].map((end) => ways(end).length);
          const isSpur = path.length < SPUR && ends.includes(1) && ends.some((count) => count > 2);
          if (!isSpur) paths.push(path.map((pixel) => [pixel % this.width, Math.floor(pixel / this.width)]));
        }
      }
    }
    return paths;
  }

  #smooth(path) {
    const isClosed = path.length > 3 && path[0][0] === path.at(-1)[0] && path[0][1] === path.at(-1)[1];
    const n = isClosed ? path.length - 1 : path.length;
    const smooth = path.slice(0, n).map((_, i) => {
      const reach = isClosed ? SMOOTH : Math.min(SMOOTH, i, n - 1 - i); // ends stay where they are
      let [x, y] = [0, 0];
      for (let k = -reach; k <= reach; k++) {
        const [px, py] = path[(((i + k) % n) + n) % n];
        x += px;
        y += py;
      }
      return [x / (2 * reach + 1), y / (2 * reach + 1)];
    });
    return isClosed ? [...smooth, smooth[0]] : smooth;
  }
}
