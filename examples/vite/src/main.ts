// The element does the work; the page says what was chosen.
import type { Hit } from "sketch-seek";
import "sketch-seek";

const seek = document.querySelector("sketch-seek")!;
const chosen = document.querySelector<HTMLParagraphElement>("#chosen")!;

function named(hit: Hit): string {
  return `${hit.title ?? hit.picture}: ${Math.round(100 * hit.confidence)}% sure`;
}

seek.addEventListener("hit", (event) => {
  event.preventDefault(); // stay on this page
  chosen.textContent = named(event.detail);
});
