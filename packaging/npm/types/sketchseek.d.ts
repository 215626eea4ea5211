import type { Answer, Collection, Hit, Problem, Stroke } from "./collection";

export * from "./collection";

export interface SketchSeekEvents {
  /** The collection is open. */
  ready: CustomEvent<Collection>;
  /** An answer is shown. */
  hits: CustomEvent<Answer>;
  /** Somebody chose a hit; its link is followed unless this is prevented. */
  hit: CustomEvent<Hit>;
  problem: CustomEvent<Problem>;
}

/** `<sketch-seek src="...">`: a sheet to draw on, and what is found. Importing the package registers it. */
export class SketchSeek extends HTMLElement {
  /** The strokes on the sheet, 1600 x 1440; set them to search for others. */
  strokes: Stroke[];
  addEventListener<K extends keyof SketchSeekEvents>(
    type: K, listener: (this: SketchSeek, event: SketchSeekEvents[K]) => unknown, options?: boolean | AddEventListenerOptions,
  ): void;
  addEventListener<K extends keyof HTMLElementEventMap>(
    type: K, listener: (this: SketchSeek, event: HTMLElementEventMap[K]) => unknown, options?: boolean | AddEventListenerOptions,
  ): void;
  addEventListener(type: string, listener: EventListenerOrEventListenerObject, options?: boolean | AddEventListenerOptions): void;
}

declare global {
  interface HTMLElementTagNameMap {
    "sketch-seek": SketchSeek;
  }
}
