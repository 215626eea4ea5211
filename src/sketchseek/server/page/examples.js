// Three drawings to begin with, as a person would draw them.
import { fit } from "./geometry.js";

const SVG = "http://www.w3.org/2000/svg";

export const EXAMPLES = [
  { name: "mug", lines: ["M22 30C22 26 64 26 64 30C64 34 22 34 22 30Z", "M22 30L24 72C25 78 61 78 62 72L64 30", "M63 38C80 34 82 64 62.5 62"] },
  { name: "star", lines: ["M50 14L60.5 39L88 41L66.5 58L73.5 85L50 70L26.5 85L33.5 58L12 41L39.5 39Z"] },
  { name: "house", lines: ["M14 52L50 20L86 52", "M24 45V84H76V45", "M42 84V62H58V84"] },
];

/** An example's strokes, sampled from its curves. */
export function strokesOf({ lines }) {
  return fit(lines.map((d) => {
    const path = document.createElementNS(SVG, "path");
    path.setAttribute("d", d);
    const length = path.getTotalLength();
    const steps = Math.ceil(length / 1.5);
    return Array.from({ length: steps + 1 }, (_, i) => {
      const { x, y } = path.getPointAtLength((length * i) / steps);
      return [x, y];
    });
  }), 0.66);
}

/** An example as a small picture for its button. */
export function exampleIcon({ lines }) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 100 100");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", lines.join(""));
  svg.append(path);
  return svg;
}
