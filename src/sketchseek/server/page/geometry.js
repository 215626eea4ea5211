// Strokes are arrays of points [x, y, pressure], in units of a page that is WIDTH x HEIGHT.
export const WIDTH = 1600;
export const HEIGHT = 1280;
const GAP = 24; // drawn curves pass through their points: no two are further apart than this

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
    for (let j = 1; j <= parts; j++) dense.push(a.map((value, axis) => value + ((b[axis] - value) * j) / parts));
  }
  return dense;
}

/** Strokes of any size, from elsewhere, moved to the middle of the page and made to fill most of it. */
export function fit(strokes, share = 0.72) {
  let [x0, y0, x1, y1] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const [x, y] of strokes.flat()) {
    [x0, y0, x1, y1] = [Math.min(x0, x), Math.min(y0, y), Math.max(x1, x), Math.max(y1, y)];
  }
  const scale = share * Math.min(WIDTH / (x1 - x0 || 1), HEIGHT / (y1 - y0 || 1));
  return strokes.map((stroke) =>
    densify(stroke.map(([x, y]) => [
      WIDTH / 2 + (x - (x0 + x1) / 2) * scale,
      HEIGHT / 2 + (y - (y0 + y1) / 2) * scale,
      0.5,
    ])),
  );
}

/** Left and right exchanged. */
export const flip = (strokes) => strokes.map((stroke) => stroke.map(([x, y, p]) => [WIDTH - x, y, p]));

/** What the server needs: few points, whole numbers, no pressure. */
export const outline = (strokes) =>
  strokes.map((stroke) => simplify(stroke, 1).map(([x, y]) => [Math.round(x), Math.round(y)]));

/** The `d` of an SVG path through polylines; a lone point becomes a dot. */
export const pathData = (strokes) =>
  strokes
    .map((stroke) => `M${stroke.map(([x, y]) => `${x} ${y}`).join("L")}${stroke.length === 1 ? "h.01" : ""}`)
    .join("");
