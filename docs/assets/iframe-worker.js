/* A Worker for pages opened from the disk. Browsers refuse `new Worker(file)` under file://, and
   the search of this site is such a worker. Here its script runs in a hidden frame of the same
   page instead: messages go in and out as they would with a worker. Elsewhere nothing changes. */
(function () {
  "use strict";
  if (location.protocol !== "file:") return;

  class IFrameWorker extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.title = "search";
      document.body.appendChild(frame);
      this.inside = frame.contentWindow;
      this.waiting = [];
      this.inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      const script = this.inside.document.createElement("script");
      script.src = new URL(url, location.href).href;
      script.onload = () => {
        this.waiting.forEach((data) => this.deliver(data));
        this.waiting = null;
      };
      this.inside.document.body.appendChild(script);
    }

    deliver(data) {
      this.inside.dispatchEvent(new MessageEvent("message", { data }));
    }

    postMessage(data) {
      if (this.waiting) this.waiting.push(data);
      else this.deliver(data);
    }

    terminate() {
      this.inside.frameElement.remove();
    }
  }

  window.IFrameWorker = IFrameWorker;
  window.Worker = IFrameWorker;
})();
