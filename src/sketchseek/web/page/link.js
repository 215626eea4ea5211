// A drawing as a short string for the address bar: differences between neighbouring points as
// variable-length integers, in base64url. Version 1 of the format is the leading "1".
import { HEIGHT, WIDTH, densify, simplify } from "./geometry.js";

const MAX_POINTS = 20000;

function pushNumber(bytes, value) {
  while (value > 127) {
    bytes.push((value & 127) | 128);
    value >>>= 7;
  }
  bytes.push(value);
}

const pushSigned = (bytes, value) => pushNumber(bytes, value < 0 ? -2 * value - 1 : 2 * value);

/** Strokes to text. Pressure is left out: it changes how a line looks, not what it means. */
export function encode(strokes) {
  const bytes = [];
  for (const stroke of strokes) {
    const points = simplify(stroke, 1.5);
    pushNumber(bytes, points.length);
    let [px, py] = [0, 0];
    for (const point of points) {
      const [x, y] = [Math.round(point[0]), Math.round(point[1])];
      pushSigned(bytes, x - px);
      pushSigned(bytes, y - py);
      [px, py] = [x, y];
    }
  }
  const text = btoa(bytes.map((byte) => String.fromCharCode(byte)).join(""));
  return `1${text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
}

/** Text to strokes; null for anything that `encode` did not make. */
export function decode(text) {
  if (!/^1[\w-]+$/.test(text)) return null;
  let data;
  try {
    data = atob(text.slice(1).replaceAll("-", "+").replaceAll("_", "/"));
  } catch {
    return null;
  }
  let at = 0;
  const number = () => {
    let value = 0;
    for (let shift = 0; shift < 28; shift += 7) {
      const byte = data.charCodeAt(at++); // NaN past the end
      if (Number.isNaN(byte)) return NaN;
      value |= (byte & 127) << shift;
      if (byte < 128) return value;
    }
    return NaN;
  };
  const signed = () => {
    const value = number();
    return value % 2 ? -(value + 1) / 2 : value / 2;
  };
  const strokes = [];
  let total = 0;
  while (at < data.length) {
    const count = number();
    total += count;
    if (!(count > 0 && total <= MAX_POINTS)) return null;
    const stroke = [];
    let [x, y] = [0, 0];
    for (let i = 0; i < count; i++) {
      x += signed();
      y += signed();
      if (!(x >= 0 && y >= 0 && x <= WIDTH && y <= HEIGHT)) return null;
      stroke.push([x, y, 0.5]);
    }
    strokes.push(densify(stroke));
  }
  return strokes;
}
