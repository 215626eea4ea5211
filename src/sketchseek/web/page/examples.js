// What a collection offers to begin with: drawings traced in its pictures, and a wall of some.
import { bounds, fit, pathData } from "./geometry.js";
import { fileName, load } from "./results.js";

const SVG = "http://www.w3.org/2000/svg";

function icon(strokes) {
  const [x0, y0, x1, y1] = bounds(strokes);
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", `${x0} ${y0} ${x1 - x0 || 1} ${y1 - y0 || 1}`);
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", pathData(strokes));
  svg.append(path);
  return svg;
}

/** A button for each drawing { strokes, picture }; `choose` is given its strokes, to fit the sheet. */
export function showExamples(place, examples, choose) {
  place.replaceChildren(...examples.map((example) => {
    const button = Object.assign(document.createElement("button"), { type: "button", title: `Traced in ${fileName(example)}` });
    button.setAttribute("aria-label", `Example, traced in ${fileName(example)}`);
    button.append(icon(example.strokes));
    button.addEventListener("click", () => choose(fit(example.strokes, 0.66)));
    return button;
  }));
}

export function showWall(place, pictures, thumbnail) {
  place.replaceChildren(...pictures.map((picture) => {
    const image = load(Object.assign(new Image(), { alt: "" }), thumbnail(picture));
    image.style.setProperty("--shape", Math.max(0.6, Math.min(2, picture.width / picture.height)));
    return image;
  }));
}
