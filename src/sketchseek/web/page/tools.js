// What a pointer does to the drawing. A tool is called where the pointer goes down, and gives a gesture:
// `still`, the strokes that stay, and `live`, those that follow the pointer; `to(point, shift)` moves it on.
import { cut, ellipse, line, snapped, squared } from "./geometry.js";

const NEAR = 2; // closer points add nothing
const far = (a, b) => Math.hypot(a[0] - b[0], a[1] - b[1]) >= NEAR;

/** Free lines, and straight ones while shift is held. */
function pencil(strokes, first) {
  let free = [first];
  let straight = null;
  return {
    still: strokes,
    get live() { return [straight ?? free]; },
    to(point, shift) {
      if (shift) {
        straight = far(point, free.at(-1)) ? [...free, ...line(free.at(-1), point).slice(1)] : free;
        return;
      }
      if (straight) [free, straight] = [straight, null];
      if (far(point, free.at(-1))) free.push(point);
    },
  };
}

/** A shape between where the pointer went down and where it is; none where it has not moved. */
const shape = (make) => (strokes, first) => ({
  still: strokes,
  live: [],
  to(point, shift) {
    this.live = far(point, first) ? [make(first, point, shift)] : [];
  },
});

/** Takes what it touches, and leaves the rest of each stroke. */
function rubber(strokes, first) {
  let from = first;
  return {
    still: strokes,
    live: [],
    to(point) {
      const steps = Math.ceil(Math.hypot(point[0] - from[0], point[1] - from[1]) / (REACH.rubber / 3)) || 1;
      for (let i = 1; i <= steps; i++) {
        const at = [0, 1].map((axis) => from[axis] + ((point[axis] - from[axis]) * i) / steps);
        const left = this.still.flatMap((stroke) => cut(stroke, at, REACH.rubber));
        if (left.length !== this.still.length || left.some((stroke, j) => stroke !== this.still[j])) this.still = left;
      }
      from = point;
    },
  };
}

/** How far tools that take away reach. */
export const REACH = { rubber: 34 };

export const TOOLS = {
  pencil,
  line: shape((a, b, shift) => line(a, shift ? snapped(a, b) : b)),
  ellipse: shape((a, b, shift) => ellipse(a, shift ? squared(a, b) : b)),
  rubber,
};
