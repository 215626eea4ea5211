// The tool that moves and resizes what is drawn: everything, or the strokes that were chosen with it.
import { HEIGHT, WIDTH, bounds, fromSegment, moved } from "./geometry.js";

const CLICK = 6; // a pointer that moves less than this chose something
const MIN_OBJECT_SIZE = 24; // the shorter side that a corner can be pulled to

export class Hand {
  #chosen = null; // a set of strokes; null for all of them

  /** The strokes that the next move takes along. */
  of(strokes) {
    const chosen = strokes.filter((stroke) => this.#chosen?.has(stroke));
    return chosen.length ? chosen : strokes;
  }

  /** Choose these; nothing, or what is not on the sheet, chooses all. */
  choose(strokes) {
    this.#chosen = strokes?.length ? new Set(strokes) : null;
  }

  /** Choose one stroke after the other, then all again. */
  next(strokes) {
    const at = this.of(strokes).length === strokes.length ? -1 : strokes.findIndex((stroke) => this.#chosen.has(stroke));
    this.choose(strokes.slice(at + 1, at + 2));
  }

  /** A gesture, as in tools.js: from a corner it resizes, in the box it moves, beside it it chooses. */
  begin(strokes, first, reach) {
    const mine = this.of(strokes);
    const box = bounds(mine);
    const gesture = this.#gesture(strokes, mine, box, first, reach);
    const move = gesture.to;
    let far = false;
    return Object.assign(gesture, {
      to: (point, shift) => {
        far ||= Math.hypot(point[0] - first[0], point[1] - first[1]) > CLICK;
        if (far) move(point, shift);
      },
      end: () => {
        if (!far) this.choose(this.#under(strokes, first, reach));
        else if (gesture.frame) this.choose(strokes.filter((stroke) => meets(stroke, gesture.frame)));
        else if (mine.length < strokes.length) this.choose(gesture.live);
      },
    });
  }

  #gesture(strokes, mine, box, first, reach) {
    const gesture = { still: strokes.filter((stroke) => !mine.includes(stroke)), live: mine };
    const corner = mine.length ? cornerAt(box, first, reach) : null;
    const inside = mine.length && first[0] > box[0] - reach && first[0] < box[2] + reach &&
      first[1] > box[1] - reach && first[1] < box[3] + reach;
    if (corner) gesture.to = (point, shift) => { gesture.live = moved(mine, box, pulled(box, corner, point, shift)); };
    else if (inside) gesture.to = (point) => { gesture.live = moved(mine, box, shifted(box, point[0] - first[0], point[1] - first[1])); };
    else gesture.to = (point) => { gesture.frame = bounds([[first, point]]); };
    return gesture;
  }

  #under(strokes, point, reach) {
    const near = (stroke) => Math.min(...stroke.map((p, i) => fromSegment(point, stroke[Math.max(0, i - 1)], p)));
    const nearest = strokes.map((stroke) => [near(stroke), stroke]).sort((a, b) => a[0] - b[0])[0];
    return nearest?.[0] < reach ? [nearest[1]] : null;
  }
}

const meets = (stroke, [x0, y0, x1, y1]) => stroke.some(([x, y]) => x >= x0 && x <= x1 && y >= y0 && y <= y1);

/** Which corner of the box is within reach: its [x, y] as indices into the box. */
function cornerAt(box, [x, y], reach) {
  const corners = [[0, 1], [2, 1], [0, 3], [2, 3]].map((at) => [Math.hypot(x - box[at[0]], y - box[at[1]]), at]);
  const [distance, at] = corners.sort((a, b) => a[0] - b[0])[0];
  return distance < reach ? at : null;
}

/** The box after a corner went to a point: the opposite one stays, and so does the shape, unless `freely`. */
function pulled(box, [xAt, yAt], point, freely) {
  const [ax, ay] = [box[2 - xAt], box[4 - yAt]]; // the corner that stays
  const [w, h] = [box[2] - box[0], box[3] - box[1]];
  const [wMost, hMost] = [xAt ? WIDTH - ax : ax, yAt === 3 ? HEIGHT - ay : ay];
  let sx = w ? (xAt ? point[0] - ax : ax - point[0]) / w : 1;
  let sy = h ? (yAt === 3 ? point[1] - ay : ay - point[1]) / h : 1;
  if (!freely) sx = sy = !w ? sy : !h ? sx : Math.max(sx, sy);
  const most = [w ? wMost / w : Infinity, h ? hMost / h : Infinity];
  const least = Math.min(1, MIN_OBJECT_SIZE / Math.max(w, h));
  if (!freely) most[0] = most[1] = Math.min(...most);
  [sx, sy] = [Math.max(least, Math.min(most[0], sx)), Math.max(least, Math.min(most[1], sy))];
  const [x, y] = [xAt ? ax + w * sx : ax - w * sx, yAt === 3 ? ay + h * sy : ay - h * sy];
  return bounds([[[ax, ay], [x, y]]]);
}

/** The box moved, as far as the sheet goes. */
function shifted([x0, y0, x1, y1], dx, dy) {
  dx = Math.max(-x0, Math.min(WIDTH - x1, dx));
  dy = Math.max(-y0, Math.min(HEIGHT - y1, dy));
  return [x0 + dx, y0 + dy, x1 + dx, y1 + dy];
}

/** Strokes moved and made larger about their middle; what leaves the sheet stays on it. */
export function nudged(strokes, dx, dy, scale = 1) {
  const box = bounds(strokes);
  const [x, y, w, h] = [(box[0] + box[2]) / 2, (box[1] + box[3]) / 2, box[2] - box[0], box[3] - box[1]];
  const most = Math.min(scale, w ? WIDTH / w : Infinity, h ? HEIGHT / h : Infinity);
  const larger = [x - (w * most) / 2, y - (h * most) / 2, x + (w * most) / 2, y + (h * most) / 2];
  return moved(strokes, box, shifted(larger, dx, dy));
}
