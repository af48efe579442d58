// The Crawl page: when the server says that something has changed, exchange the parts that show it.

const crawl = document.getElementById("crawl");
const shown = new Map();  // what the server sent of each part, last
let isAsking = false, isStale = false;

async function refresh() {
  if (isAsking) { isStale = true; return; }
  isAsking = true;
  try {
    const answer = await fetch(crawl.dataset.now + location.search, { headers: { Accept: "text/html" } });
    if (answer.ok) exchange(new DOMParser().parseFromString(await answer.text(), "text/html").body);
  } catch {
    // The server has gone; the stream of events finds out when it is back.
  } finally {
    isAsking = false;
  }
  if (isStale) { isStale = false; refresh(); }
}

function exchange(fresh) {
  for (const part of [...fresh.children]) {
    const old = document.getElementById(part.id);
    if (!old || sameAs(old, part) || isBeingFilledIn(old)) continue;
    const open = [...old.querySelectorAll("details")].map((each) => each.open);
    const focus = old.contains(document.activeElement) ? addressOf(document.activeElement) : null;
    const scrolled = [...old.querySelectorAll(".scroll")].map((each) => each.scrollLeft);
    shown.set(part.id, part.innerHTML);
    old.hidden = part.hidden;
    old.replaceChildren(...part.childNodes);
    old.querySelectorAll("details").forEach((each, k) => { each.open = open[k] ?? false; });
    old.querySelectorAll(".scroll").forEach((each, k) => { each.scrollLeft = scrolled[k] ?? 0; });
    if (focus) old.querySelector(focus)?.focus({ preventScroll: true });
    if (part.id === "crawl-chart") readAgain();
  }
}

function sameAs(old, part) {
  return (shown.get(part.id) ?? old.innerHTML) === part.innerHTML;
}

// Nobody's words are taken from under their fingers: not while the form stays the same.
function isBeingFilledIn(part) {
  const field = document.activeElement;
  return field instanceof HTMLInputElement && part.contains(field) && field.value !== field.defaultValue;
}

function addressOf(element) {
  if (element.matches("svg.drawing")) return "svg.drawing";
  if (element.hasAttribute("href")) return `${element.localName}[href="${CSS.escape(element.getAttribute("href"))}"]`;
  return element.matches("button") ? "button" : element.getAttribute("name") ? `[name="${element.name}"]` : null;
}

// -- reading the drawing: with the pointer, or with the arrow keys --

let readAt = null;  // index of a point, or null

function pointsOf(drawing) {
  return JSON.parse(drawing.dataset.points);
}

function nearest(drawing, clientX) {
  const box = drawing.getBoundingClientRect(), points = pointsOf(drawing);
  const wanted = (drawing.dataset.most * (clientX - box.left)) / box.width;
  let best = 0;
  points.forEach((point, k) => { if (Math.abs(point[0] - wanted) < Math.abs(points[best][0] - wanted)) best = k; });
  return best;
}

const percent = (share) => `${(100 * share).toFixed(2)} %`;

function read(k) {
  const drawing = crawl.querySelector("svg.drawing");
  if (!drawing) return;
  const points = pointsOf(drawing), cursor = drawing.querySelector(".cursor"), reading = crawl.querySelector(".reading");
  readAt = k === null ? null : Math.min(Math.max(k, 0), points.length - 1);
  cursor.setAttribute("visibility", readAt === null ? "hidden" : "visible");
  if (readAt === null) { reading.textContent = ""; return; }
  const [n, lower, upper, rate, measured] = points[readAt], at = `${(100 * n) / drawing.dataset.most}%`;
  for (const end of ["x1", "x2"]) cursor.firstElementChild.setAttribute(end, at);
  reading.textContent = `After ${n.toLocaleString("en")} pages: at least ${percent(lower)}, at most ${percent(upper)}${measured === null ? "" : `, about ${(100 * measured).toFixed(1)} % measured`}; ${rate.toFixed(1)} pages/s`;
}

function readAgain() {
  if (readAt !== null) read(readAt);
}

crawl.addEventListener("pointermove", (event) => {
  const drawing = event.target.closest?.("svg.drawing");
  if (drawing) read(nearest(drawing, event.clientX));
  else if (readAt !== null && !document.activeElement?.matches("svg.drawing")) read(null);
});
crawl.addEventListener("keydown", (event) => {
  const steps = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity };
  if (!event.target.matches("svg.drawing") || !(event.key in steps)) return;
  event.preventDefault();
  const last = pointsOf(event.target).length - 1;
  read(Math.min(Math.max((readAt ?? last) + steps[event.key], 0), last));
});
crawl.addEventListener("focusout", (event) => { if (event.target.matches("svg.drawing")) read(null); });

const events = new EventSource(crawl.dataset.events);
events.addEventListener("crawl", refresh);
addEventListener("pagehide", () => events.close());
addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
