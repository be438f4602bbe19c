// What the copy on a disk needs besides the site: a browser opens neither modules nor workers from a file.
(() => {
  "use strict";

  // Modules: `bundle` has put each into a function, and importModule(...) stands where the site has import(...).
  const loaded = {};
  globalThis.modules = {}; // name -> a function that returns what the module exports
  globalThis.requireModule = (name) => (loaded[name] ??= globalThis.modules[name]());
  globalThis.importModule = async (address) => globalThis.requireModule(address.split("/").pop());

  // The worker of the search, in a hidden frame.
  globalThis.Worker = class extends EventTarget {
    constructor(address) {
      super();
      this.waiting = [];
      this.frame = Object.assign(document.createElement("iframe"), { hidden: true, srcdoc: "<!doctype html>" });
      this.frame.addEventListener("load", () => this.begin(String(address)), { once: true });
      document.body.append(this.frame);
    }

    begin(address) {
      const inside = this.frame.contentWindow;
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      const load = (src) => new Promise((done) => inside.document.body.append(Object.assign(inside.document.createElement("script"), { src, onload: done })));
      inside.importScripts = (...addresses) => Promise.all(addresses.map((each) => load(new URL(each, address))));
      load(address).then(() => {
        this.ready = true;
        this.waiting.splice(0).forEach((data) => this.postMessage(data));
      });
    }

    postMessage(data) {
      if (!this.ready) return this.waiting.push(data);
      this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data }));
    }

    terminate() {
      this.frame.remove();
    }
  };
})();
