// Hits as annotations of IIIF canvases: the same document as the server's (server/iiif.py).
import { pathData } from "./page/geometry.js";

const CONTEXT = "http://iiif.io/api/presentation/3/context.json";

function annotation(hit, address, { canvas, manifest }) {
  const { width, height, box: [x0, y0, x1, y1] } = hit;
  const number = Number(hit.id), name = hit.title ?? hit.picture;
  const x = Math.max(0, Math.round(x0)), y = Math.max(0, Math.round(y0));
  const across = Math.max(1, Math.round(Math.min(x1, width)) - x), along = Math.max(1, Math.round(Math.min(y1, height)) - y);
  const outline = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}"><path d="${pathData(hit.outline)}" ` +
    `fill="none" stroke="#00c853" stroke-width="${(Math.max(width, height) / 250).toFixed(1)}"/></svg>`;
  return {
    id: `${address}#${hit.rank}`,
    type: "Annotation",
    motivation: ["commenting", "highlighting"],
    label: { none: [name] },
    body: { type: "TextualBody", value: `${name}: ${Math.round(100 * hit.confidence)}% sure`, format: "text/plain" },
    target: {
      type: "SpecificResource",
      source: { id: canvas[number], type: "Canvas", partOf: [{ id: manifest[number], type: "Manifest" }] },
      selector: [
        { type: "FragmentSelector", conformsTo: "http://www.w3.org/TR/media-frags/", value: `xywh=${x},${y},${across},${along}` },
        { type: "SvgSelector", value: outline },
      ],
    },
  };
}

/** An AnnotationPage for the hits of an answer. */
export const annotationPage = (hits, address, labels) =>
  ({ "@context": CONTEXT, id: address, type: "AnnotationPage", items: hits.map((hit) => annotation(hit, address, labels)) });
