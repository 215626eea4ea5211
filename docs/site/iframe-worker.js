// The search runs in a worker, which browsers refuse to pages of a folder (file:). There, a hidden frame does its work.
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    #inside = null;
    #waiting = [];

    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      const inside = frame.contentWindow;
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      const script = frame.contentDocument.createElement("script");
      script.src = url;
      script.onload = () => {
        this.#inside = inside;
        for (const data of this.#waiting.splice(0)) this.postMessage(data);
      };
      frame.contentDocument.body.append(script);
    }

    postMessage(data) {
      if (this.#inside) this.#inside.dispatchEvent(new this.#inside.MessageEvent("message", { data }));
      else this.#waiting.push(data);
    }
  };
  window.Worker = window.IFrameWorker;
}
