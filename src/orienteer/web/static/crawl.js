// The Status page: when the server reports a change, replace the fragments that have changed.

import { exchange } from "./fragments.js";

const crawl = document.getElementById("crawl");
let isLoading = false, isStale = false;

async function refresh() {
  if (isLoading) { isStale = true; return; }
  isLoading = true;
  try {
    const response = await fetch(crawl.dataset.now + location.search, { headers: { Accept: "text/html" } });
    if (response.ok) {
      const fresh = new DOMParser().parseFromString(await response.text(), "text/html").body;
      const at = readAt;  // removing the focused chart ends its reading
      exchange(fresh, (part) => { if (part === "crawl-chart" && at !== null) read(at); });
    }
  } catch {
    // The server is not running; the event stream reconnects when it is back.
  } finally {
    isLoading = false;
  }
  if (isStale) { isStale = false; refresh(); }
}

// -- reading values off the chart, with the pointer or with the arrow keys --

let readAt = null;  // index of a point, or null

function pointsOf(drawing) {
  return JSON.parse(drawing.dataset.points);
}

function nearest(drawing, clientX) {
  const box = drawing.getBoundingClientRect(), points = pointsOf(drawing);
  const target = (drawing.dataset.most * (clientX - box.left)) / box.width;
  let best = 0;
  points.forEach((point, k) => { if (Math.abs(point[0] - target) < Math.abs(points[best][0] - target)) best = k; });
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
