// Tries every way to read the resources of http://a.test from a frame or a worker with the name `by`, and reports the
// results to http://log.test. The URL of each request names the frame and the way.
const A = 'http://a.test';
const at = (file, op) => `${A}/${file}?by=${by}&op=${op}`;
const through = (origin, url) => `${origin}/to?by=${by}&u=${encodeURIComponent(url)}`;
const found = [];
const send = () => {
  while (found.length) {
    const url = `http://log.test/got?by=${by}&found=${encodeURIComponent(JSON.stringify(found.splice(0, 12)))}`;
    fetch(url, { mode: 'no-cors' }).catch(() => 0);
  }
};
// One request reports what is read within 50 ms: many would take longer than all the attempts.
const log = (op, value) => { if (found.push([op, String(value).slice(0, 80)]) === 1) setTimeout(send, 50); };
const reads = (op, url, options) => fetch(url, options).then((answer) => answer.text()).then((text) => log(op, text), () => 0);
const attempt = (action) => { try { action(); } catch { /* this way is closed */ } };

const inWorker = typeof document === 'undefined';

function fetches(where) {
  for (const mode of ['cors', 'no-cors', 'same-origin']) {
    for (const credentials of ['omit', 'same-origin', 'include']) {
      const op = `${where}-${mode}-${credentials}`;
      reads(op, at('api.json', op), { mode, credentials });
    }
  }
  reads(`${where}-page`, at('private.html', `${where}-page`), { credentials: 'include' });
  reads(`${where}-common`, `${A}/api.json`, { credentials: 'include' });
  reads(`${where}-header`, at('api.json', `${where}-header`), { headers: { 'x-me': '1' }, credentials: 'include' });
  // Frames try both chains with and without keepalive, workers each chain once.
  for (const [chain, keepalive] of inWorker ? [[1, false], [2, true]] : [[1, false], [1, true], [2, false], [2, true]]) {
    const op = `${where}-tainted-${chain}-${keepalive}`;
    const elsewhere = through('http://b.test', at('api.json', op));
    reads(op, chain === 1 ? elsewhere : through(A, elsewhere), { credentials: 'include', keepalive });
  }
  reads(`${where}-moved`, through(A, at('api.json', `${where}-moved`)), { credentials: 'include' });
  attempt(() => new EventSource(at('events', `${where}-events`), { withCredentials: true }));
  attempt(() => new WebSocket(at('socket', `${where}-socket`).replace('http:', 'ws:')));
  attempt(() => {
    const request = new XMLHttpRequest();
    request.open('GET', at('api.json', `${where}-xhr`));
    request.withCredentials = true;
    request.onload = () => log(`${where}-xhr`, request.responseText);
    request.send();
  });
}

if (inWorker) {
  fetches(kind);
  attempt(() => { importScripts(at('me.js', `${kind}-import`)); log(`${kind}-import`, globalThis.ME); });
} else {
  addEventListener('load', () => setTimeout(inFrame, 100));
}

function added(tag, properties, parent = document.body) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith('on')) element[name] = value; else element.setAttribute(name, value);
  }
  parent.append(element);
  return element;
}

function inFrame() {
  fetches('frame');
  const scripts = {
    script: at('me.js', 'script'),
    'script-common': `${A}/me.js`,
    'script-tainted': through(A, through('http://b.test', at('me.js', 'script-tainted'))),
    'script-moved': through(A, at('me.js', 'script-moved')),
    'script-through': through('http://b.test', at('me.js', 'script-through')),
  };
  for (const [op, src] of Object.entries(scripts)) {
    added('script', { src, onload: () => log(op, globalThis[`ME_${op}`] ?? globalThis.ME) });
  }
  import(at('module.js', 'module')).then((module) => log('module', module.default), () => 0);
  import(`${A}/module.js`).then((module) => log('module-common', module.default), () => 0);
  const style = (op, href) => added('link', { rel: 'stylesheet', href, onload: () => log(op, getComputedStyle(document.body).getPropertyValue(`--${op}`)) });
  style('style', at('style.css', 'style'));
  style('common', `${A}/style.css`);
  style('style-tainted', through('http://b.test', at('style.css', 'style-tainted')));
  for (const op of ['image', 'image-common', 'image-cors']) {
    const image = new Image();
    if (op === 'image-cors') image.crossOrigin = 'use-credentials';
    image.onload = () => log(op, image.naturalWidth === 'public'.length ? 'public' : 'readable-for-the-' + 'own-origin-only');
    image.src = op === 'image-common' ? `${A}/picture.svg` : at('picture.svg', op);
  }
  attempt(() => new FontFace('f', `url(${at('font.woff', 'font')})`).load().catch(() => 0));
  for (const rel of ['preload', 'prefetch', 'modulepreload', 'manifest', 'import', 'icon']) {
    added('link', { rel, as: 'script', href: at('me.js', `link-${rel}`) });
  }
  added('video', { src: at('film.mp4', 'video') });
  const inside = (op) => (event) => attempt(() => log(op, event.target.contentDocument.body.textContent));
  added('iframe', { src: at('private.html', 'iframe'), onload: inside('iframe') });
  added('object', { data: at('private.html', 'object'), onload: inside('object') });
  added('embed', { src: at('private.html', 'embed') });
  added('iframe', { src: `/jump?to=${encodeURIComponent(at('private.html', 'jump'))}`, onload: inside('jump') });
  added('iframe', { name: `form-${by}`, onload: inside('form') });
  for (const method of ['get', 'post']) {
    const form = added('form', { action: `${A}/private.html`, method, target: `form-${by}` });
    added('input', { name: 'by', value: by }, form);
    added('input', { name: 'op', value: `form-${method}` }, form);
    form.submit();
  }
  attempt(() => open(at('private.html', 'open')));
  attempt(() => navigator.sendBeacon(at('api.json', 'beacon'), 'x'));
  attempt(() => { top.frames.victim.location = at('private.html', 'victim'); });
  attempt(() => navigator.serviceWorker.register(`/worker.js?by=${by}&kind=service`).catch(() => 0));
  const workers = { worker: `/worker.js?by=${by}&kind=worker`, shared: `/worker.js?by=${by}&kind=shared` };
  attempt(() => new Worker(workers.worker));
  attempt(() => new SharedWorker(workers.shared));
  for (const kind of ['blob', 'data']) {
    const text = `const by = '${by}', kind = '${kind}';\n${SOURCE}`;
    const url = kind === 'data' ? `data:text/javascript,${encodeURIComponent(text)}` : URL.createObjectURL(new Blob([text]));
    attempt(() => new Worker(url));
  }
}
