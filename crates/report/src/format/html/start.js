/* Begins with what the charts are made of. Of a large report that is deflated (zlib), which makes the file a third. */
(function () {
  'use strict';

  const element = document.getElementById('figures');
  const start = (text) => {
    const view = viewOf(JSON.parse(text));
    page(view);
    if (typeof live !== 'undefined') { live(view); }
  };
  if (!element.dataset.deflated) {
    start(element.textContent);
    return;
  }
  const bytes = Uint8Array.from(atob(element.textContent.trim()), (c) => c.charCodeAt(0));
  const inflated = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
  new Response(inflated).text().then(start).catch((error) => {
    document.documentElement.dataset.error = String(error);
  });
}());
