// What @iiif/parser makes of a document on standard input: what is in it, and what a strict reader has to mend.
import { readFileSync } from "node:fs";
import { normalize } from "@iiif/parser";
import { presentation3StrictUpgrade } from "@iiif/parser/strict";

const document = JSON.parse(readFileSync(0, "utf8"));
const { entities, resource } = normalize(structuredClone(document));
const warnings = [];
if (document.type === "Manifest") presentation3StrictUpgrade(structuredClone(document), { warnings });
console.log(JSON.stringify({
  resource,
  annotations: Object.values(entities.Annotation),
  canvases: Object.keys(entities.Canvas),
  pages: Object.values(entities.AnnotationPage),
  warnings,
}));
