// Three drawings to begin with, as a person would draw them.
import { fit } from "./geometry.js";

const SVG = "http://www.w3.org/2000/svg";

export const EXAMPLES = [
  { name: "mug", lines: ["M20 27L66 26L65 60C64 69 58 75 50 76H36C28 75 22 69 21 60Z", "M66 37C80 34 84 38 84 47C84 58 80 62 65 61"] },
  { name: "fish", lines: ["M89 33C80 47 66 64 44 67C29 67 18 58 11 50C18 41 29 32 44 33C66 36 80 53 89 67"] },
  { name: "house", lines: ["M12 51L50 13L88 51L79 50V82C79 86 77 88 73 88H27C23 88 21 86 21 82V50Z", "M39 88V64C39 59 42 56 46 56H54C58 56 61 59 61 64V88"] },
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
