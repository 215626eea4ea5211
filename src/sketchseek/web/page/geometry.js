// Strokes are arrays of points [x, y, pressure], in units of a page that is WIDTH x HEIGHT.
export const WIDTH = 1600;
export const HEIGHT = 1440;
const GAP = 24; // drawn curves pass through their points: no two are further apart than this

const tenth = (value) => Math.round(value * 10) / 10;
const hundredth = (value) => Math.round(value * 100) / 100;
const distance = (a, b) => Math.hypot(a[0] - b[0], a[1] - b[1]);

/** How far point p lies from the segment a b. */
export function fromSegment(p, a, b) {
  const dx = b[0] - a[0], dy = b[1] - a[1];
  const length = dx * dx + dy * dy;
  const t = length ? Math.max(0, Math.min(1, ((p[0] - a[0]) * dx + (p[1] - a[1]) * dy) / length)) : 0;
  return Math.hypot(p[0] - a[0] - t * dx, p[1] - a[1] - t * dy);
}

/** Fewer points for the same line (Douglas and Peucker), at most `tolerance` away from it. */
export function simplify(stroke, tolerance) {
  if (stroke.length < 3) return stroke;
  const keep = new Uint8Array(stroke.length);
  keep[0] = keep[stroke.length - 1] = 1;
  const spans = [[0, stroke.length - 1]];
  while (spans.length) {
    const [first, last] = spans.pop();
    let worst = tolerance, at = -1;
    for (let i = first + 1; i < last; i++) {
      const d = fromSegment(stroke[i], stroke[first], stroke[last]);
      if (d > worst) [worst, at] = [d, i];
    }
    if (at > 0) {
      keep[at] = 1;
      spans.push([first, at], [at, last]);
    }
  }
  return stroke.filter((_, i) => keep[i]);
}

/** More points on the same line, so that smoothing keeps its corners. */
export function densify(stroke) {
  const dense = [stroke[0]];
  for (let i = 1; i < stroke.length; i++) {
    const a = stroke[i - 1], b = stroke[i];
    const parts = Math.ceil(distance(a, b) / GAP) || 1;
    for (let j = 1; j <= parts; j++) dense.push(a.map((value, axis) => hundredth(value + ((b[axis] - value) * j) / parts)));
  }
  return dense;
}

/** The tight box [x0, y0, x1, y1] of strokes. */
export function bounds(strokes) {
  let [x0, y0, x1, y1] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const [x, y] of strokes.flat()) {
    [x0, y0, x1, y1] = [Math.min(x0, x), Math.min(y0, y), Math.max(x1, x), Math.max(y1, y)];
  }
  return [x0, y0, x1, y1];
}

/** Strokes of any size, from elsewhere, moved to the middle of the page and made to fill most of it. */
export function fit(strokes, share = 0.72) {
  const [x0, y0, x1, y1] = bounds(strokes);
  const scale = share * Math.min(WIDTH / (x1 - x0 || 1), HEIGHT / (y1 - y0 || 1));
  return strokes.map((stroke) =>
    densify(stroke.map(([x, y]) => [
      WIDTH / 2 + (x - (x0 + x1) / 2) * scale,
      HEIGHT / 2 + (y - (y0 + y1) / 2) * scale,
      0.5,
    ])),
  );
}

/** A straight stroke. */
export const line = (a, b) => densify([a, b]);

/** The ellipse that fills the box between two of its corners, as a closed stroke. */
export function ellipse(a, b) {
  const [x, y] = [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2];
  const [rx, ry] = [Math.abs(b[0] - a[0]) / 2, Math.abs(b[1] - a[1]) / 2];
  const steps = Math.max(16, Math.ceil((Math.PI * (rx + ry)) / GAP));
  return Array.from({ length: steps + 1 }, (_, i) => {
    const angle = (2 * Math.PI * i) / steps;
    return [tenth(x + rx * Math.sin(angle)), tenth(y - ry * Math.cos(angle)), a[2]];
  });
}

/** Point b moved towards a until it lies on the page. */
function within(a, b) {
  const share = ([from, to, most]) => (to < 0 ? from / (from - to) : to > most ? (most - from) / (to - from) : 1);
  const t = Math.min(...[[a[0], b[0], WIDTH], [a[1], b[1], HEIGHT]].map(share));
  return [tenth(a[0] + (b[0] - a[0]) * t), tenth(a[1] + (b[1] - a[1]) * t), b[2]];
}

/** Point b, turned about a until the line between them runs along the nearest multiple of 15 degrees. */
export function snapped(a, b) {
  const step = Math.PI / 12;
  const angle = Math.round(Math.atan2(b[1] - a[1], b[0] - a[0]) / step) * step;
  const along = (b[0] - a[0]) * Math.cos(angle) + (b[1] - a[1]) * Math.sin(angle);
  return within(a, [a[0] + along * Math.cos(angle), a[1] + along * Math.sin(angle), b[2]]);
}

/** The corner opposite a of the square that is as large as the box between a and b. */
export function squared(a, b) {
  const side = Math.max(Math.abs(b[0] - a[0]), Math.abs(b[1] - a[1]));
  return within(a, [a[0] + Math.sign(b[0] - a[0] || 1) * side, a[1] + Math.sign(b[1] - a[1] || 1) * side, b[2]]);
}

/** What is left of a stroke when a disc is taken away: its pieces outside, or [stroke] itself if it misses. */
export function cut(stroke, [cx, cy], radius) {
  if (stroke.length === 1) return distance(stroke[0], [cx, cy]) < radius ? [] : [stroke];
  const pieces = [];
  let piece = [], touched = false;
  const add = (a, b, t) => piece.push([
    tenth(a[0] + (b[0] - a[0]) * t), tenth(a[1] + (b[1] - a[1]) * t), a[2],
  ]);
  const end = () => {
    if (piece.length > 1) pieces.push(piece);
    piece = [];
  };
  for (let i = 1; i < stroke.length; i++) {
    // |a + t (b - a) - c| = radius, for t: inside the disc is what lies between the two solutions.
    const a = stroke[i - 1], b = stroke[i];
    const [dx, dy, fx, fy] = [b[0] - a[0], b[1] - a[1], a[0] - cx, a[1] - cy];
    const [square, half, rest] = [dx * dx + dy * dy, fx * dx + fy * dy, fx * fx + fy * fy - radius * radius];
    const root = half * half - square * rest;
    const [t0, t1] = !square ? (rest < 0 ? [-Infinity, Infinity] : [2, 2])
      : root > 0 ? [(-half - Math.sqrt(root)) / square, (-half + Math.sqrt(root)) / square] : [2, 2];
    if (t0 >= 1 || t1 <= 0) { // this segment is whole
      if (!piece.length) piece.push(a);
      piece.push(b);
      continue;
    }
    touched = true;
    if (t0 > 0) {
      if (!piece.length) piece.push(a);
      add(a, b, t0);
    }
    end();
    if (t1 < 1) {
      add(a, b, t1);
      piece.push(b);
    }
  }
  end();
  return touched ? pieces : [stroke];
}

/** Strokes moved and resized: the box `from` becomes the box `to`. A box without width or height keeps it. */
export function moved(strokes, from, to) {
  const scale = (axis) => (from[axis + 2] > from[axis] ? (to[axis + 2] - to[axis]) / (from[axis + 2] - from[axis]) : 1);
  const [sx, sy] = [scale(0), scale(1)];
  return strokes.map((stroke) =>
    stroke.map(([x, y, p]) => [tenth(to[0] + (x - from[0]) * sx), tenth(to[1] + (y - from[1]) * sy), p]),
  );
}

/** Left and right exchanged. */
export const flip = (strokes) => strokes.map((stroke) => stroke.map(([x, y, p]) => [WIDTH - x, y, p]));

/** What the server needs: few points, whole numbers, no pressure. */
export const outline = (strokes) =>
  strokes.map((stroke) => simplify(stroke, 1).map(([x, y]) => [Math.round(x), Math.round(y)]));

/** Strokes placed in a picture: turned (degrees, clockwise), then mirrored, their tight box is `box` there. */
export function placed(strokes, { box, mirrored, rotation = 0 }) {
  const [cos, sin] = [Math.cos((rotation * Math.PI) / 180), Math.sin((rotation * Math.PI) / 180)];
  const turned = strokes.map((stroke) =>
    stroke.map(([x, y]) => [(mirrored ? -1 : 1) * (cos * x - sin * y), sin * x + cos * y]));
  const [x0, y0, x1, y1] = bounds(turned);
  const scale = x1 - x0 > y1 - y0 ? (box[2] - box[0]) / (x1 - x0) : (box[3] - box[1]) / (y1 - y0 || 1);
  return turned.map((stroke) => stroke.map(([x, y]) => [
    tenth((box[0] + box[2]) / 2 + scale * (x - (x0 + x1) / 2)),
    tenth((box[1] + box[3]) / 2 + scale * (y - (y0 + y1) / 2)),
  ]));
}

/** The `d` of an SVG path through polylines; a lone point becomes a dot. */
export const pathData = (strokes) =>
  strokes
    .map((stroke) => `M${stroke.map(([x, y]) => `${x} ${y}`).join("L")}${stroke.length === 1 ? "h.01" : ""}`)
    .join("");
