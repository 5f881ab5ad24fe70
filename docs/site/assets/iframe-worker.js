// Search runs in a worker, and browsers start none from file://. There, a hidden frame stands in for
// it: it has the same two ends, `postMessage` and the event "message".
class IFrameWorker extends EventTarget {
  constructor(url) {
    super();
    const frame = document.createElement("iframe");
    frame.hidden = true;
    frame.title = "search";
    document.body.append(frame);
    this.inner = frame.contentWindow;
    this.inner.postMessage = (data) =>
      this.dispatchEvent(new MessageEvent("message", { data }));
    const script = this.inner.document.createElement("script");
    script.src = url;
    this.ready = new Promise((done) => script.addEventListener("load", done));
    this.inner.document.body.append(script);
  }
  postMessage(data) {
    this.ready.then(() =>
      this.inner.dispatchEvent(new this.inner.MessageEvent("message", { data })));
  }
}
if (location.protocol === "file:") {
  window.IFrameWorker = IFrameWorker;
  window.Worker = IFrameWorker;
}
