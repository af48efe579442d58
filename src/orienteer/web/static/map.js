// The map: circles and lines on a canvas. The table of the page has the same data.

const MOST_LINES = 260;
const MOST_ARROWS = 12; // each way
const LABEL_PX = 13000; // square pixels of the map for each label
const LARGEST_PX = 96; // the radius of the largest circle, if there is room
const SHARES = [0.25, 0.5, 0.75, 1]; // shares of the known pages that were fetched, from which on a circle has the next colour

async function start(stage) {
  const state = document.getElementById("map-state");
  state.textContent = "Drawing the map…";
  try {
    const response = await fetch(stage.dataset.map);
    const data = await response.json();
    if (!response.ok) throw new Error(data.error);
    state.textContent = "";
    new RegionMap(stage, data);
  } catch (error) {
    state.textContent = `The map cannot be drawn: ${error.message}. The table has the same data.`;
  }
}

class RegionMap {
  constructor(stage, { regions, links }) {
    this.stage = stage;
    this.canvas = stage.querySelector("canvas");
    this.pen = this.canvas.getContext("2d");
    this.panel = document.getElementById("selected");
    this.regions = regions;
    this.shares = regions.map(({ n_pages: n, n_others: others }) => SHARES.filter((least) => n / (n + others) >= least).length);
    this.links = links;
    this.mostMass = Math.max(...links.mass.slice(0, 1), 1e-300);
    this.out = regions.map(() => []);
    this.in = regions.map(() => []);
    links.sources.forEach((source, k) => {
      // Links are sorted by mass, largest first.
      if (this.out[source].length < MOST_ARROWS) this.out[source].push(k);
      if (this.in[links.targets[k]].length < MOST_ARROWS) this.in[links.targets[k]].push(k);
    });
    this.selected = -1;
    this.matches = null;
    this.isMoved = false;
    this.view = { scale: 1, x: 0, y: 0 };
    this.readColours();
    this.listen();
    new ResizeObserver(() => this.resize()).observe(stage);
    this.filter(document.getElementById("q").value);
    this.resize();
  }

  // --- layout -----------------------------------------------------------------------------------------------------

  resize() {
    const { clientWidth: width, clientHeight: height } = this.stage;
    const dots = window.devicePixelRatio || 1;
    this.width = width;
    this.height = height;
    this.canvas.width = Math.round(width * dots);
    this.canvas.height = Math.round(height * dots);
    this.pen.setTransform(dots, 0, 0, dots, 0, 0);
    if (this.isMoved) this.draw();
    else this.showAll();
  }

  showAll() {
    let [right, bottom] = [0.1, 0.1]; // the middle of the map is at (0, 0)
    for (const { x, y, radius } of this.regions) {
      right = Math.max(right, Math.abs(x) + radius);
      bottom = Math.max(bottom, Math.abs(y) + radius);
    }
    const scale = Math.min((this.width - 40) / (2 * right), (this.height - 56) / (2 * bottom), LARGEST_PX);
    this.whole = Math.max(scale, 0.1);
    this.view = { scale: this.whole, x: this.width / 2, y: this.height / 2 };
    this.setMoved(false);
    this.draw();
  }

  setMoved(isMoved) {
    this.isMoved = isMoved;
    this.stage.classList.toggle("moved", isMoved);
  }

  zoom(factor, x = this.width / 2, y = this.height / 2) {
    const scale = Math.min(Math.max(this.view.scale * factor, this.whole * 0.7), this.whole * 80);
    const by = scale / this.view.scale;
    this.view = { scale, x: x + (this.view.x - x) * by, y: y + (this.view.y - y) * by };
    this.setMoved(true);
    this.draw();
  }

  move(dx, dy) {
    this.view.x += dx;
    this.view.y += dy;
    this.setMoved(true);
    this.draw();
  }

  place(k) {
    const { x, y, radius } = this.regions[k];
    const { scale } = this.view;
    return { x: x * scale + this.view.x, y: y * scale + this.view.y, radius: Math.max(radius * scale, 1.3) };
  }

  isSeen({ x, y, radius }) {
    return x + radius > 0 && y + radius > 0 && x - radius < this.width && y - radius < this.height;
  }

  at(x, y, slack = 5) {
    let [best, nearest] = [-1, slack];
    for (let k = 0; k < this.regions.length; k++) {
      const place = this.place(k);
      const gap = Math.hypot(place.x - x, place.y - y) - place.radius;
      if (gap < nearest) [best, nearest] = [k, gap];
      if (gap < 0) return k;
    }
    return best;
  }

  // --- drawing ----------------------------------------------------------------------------------------------------

  readColours() {
    const style = getComputedStyle(document.documentElement);
    const named = (name) => style.getPropertyValue(name).trim();
    this.colours = {
      circles: [0, 1, 2, 3, 4].map((k) => named(`--share-${k}`)), letters: [0, 1, 2, 3, 4].map((k) => named(`--on-share-${k}`)),
      edge: named("--circle-edge"), flow: named("--flow"), in: named("--flow-in"),
      out: named("--flow-out"), chosen: named("--chosen"), ink: named("--ink"), paper: named("--paper"),
    };
    this.font = getComputedStyle(document.body).fontFamily;
  }

  draw() {
    if (this.isWaiting) return;
    this.isWaiting = true;
    requestAnimationFrame(() => {
      this.isWaiting = false;
      this.pen.clearRect(0, 0, this.width, this.height);
      const places = this.regions.map((_, k) => this.place(k));
      const near = this.near();
      this.drawLines(places, near !== null);
      this.drawCircles(places, near);
      if (this.selected >= 0) this.drawFlows(places);
      this.drawLabels(places, near);
    });
  }

  // The regions that are not dimmed: the selected one and its links, or else the matches of the search.
  near() {
    if (this.selected < 0) return this.matches;
    const { sources, targets } = this.links;
    const near = new Set([this.selected]);
    for (const k of this.out[this.selected]) near.add(targets[k]);
    for (const k of this.in[this.selected]) near.add(sources[k]);
    return near;
  }

  widthOf(mass) {
    return 0.6 + 6 * Math.sqrt(mass / this.mostMass);
  }

  drawLines(places, isDim) {
    const { sources, targets, mass } = this.links;
    const { pen } = this;
    pen.strokeStyle = this.colours.flow;
    let n = 0;
    for (let k = 0; k < mass.length && n < MOST_LINES; k++) {
      const [from, to] = [places[sources[k]], places[targets[k]]];
      if (!this.isSeen(from) && !this.isSeen(to)) continue;
      n += 1;
      pen.globalAlpha = isDim ? 0.12 : 0.2 + 0.3 * Math.sqrt(mass[k] / this.mostMass);
      pen.lineWidth = this.widthOf(mass[k]);
      pen.beginPath();
      pen.moveTo(from.x, from.y);
      pen.lineTo(to.x, to.y);
      pen.stroke();
    }
    pen.globalAlpha = 1;
  }

  drawCircles(places, near) {
    const { pen, colours } = this;
    pen.lineWidth = 1;
    for (let k = places.length - 1; k >= 0; k--) {
      const { x, y, radius } = places[k];
      if (!this.isSeen(places[k])) continue;
      pen.globalAlpha = near && !near.has(k) ? 0.22 : 1;
      pen.fillStyle = colours.circles[this.shares[k]];
      pen.beginPath();
      pen.arc(x, y, radius, 0, 2 * Math.PI);
      pen.fill();
      if (radius > 3) {
        pen.strokeStyle = colours.edge;
        pen.stroke();
      }
    }
    pen.globalAlpha = 1;
    if (this.selected >= 0) {
      const { x, y, radius } = places[this.selected];
      pen.strokeStyle = colours.chosen;
      pen.lineWidth = 2.5;
      pen.beginPath();
      pen.arc(x, y, radius + 2, 0, 2 * Math.PI);
      pen.stroke();
    }
  }

  // Outgoing and incoming flows are on either side of the straight line; incoming ones are dashed, for the colour-blind.
  drawFlows(places) {
    const { sources, targets, mass } = this.links;
    const draw = (k, colour, dash) =>
      this.drawArrow(places[sources[k]], places[targets[k]], this.widthOf(mass[k]) + 0.8, colour, dash);
    for (const k of this.in[this.selected]) draw(k, this.colours.in, [6, 4]);
    for (const k of this.out[this.selected]) draw(k, this.colours.out, []);
  }

  drawArrow(from, to, width, colour, dash) {
    const { pen } = this;
    const length = Math.hypot(to.x - from.x, to.y - from.y) || 1;
    const [ux, uy] = [(to.x - from.x) / length, (to.y - from.y) / length];
    const bend = Math.min(0.12 * length, 40);
    const middle = { x: (from.x + to.x) / 2 - uy * bend, y: (from.y + to.y) / 2 + ux * bend };
    const angle = Math.atan2(to.y - middle.y, to.x - middle.x);
    const end = { x: to.x - Math.cos(angle) * (to.radius + 1), y: to.y - Math.sin(angle) * (to.radius + 1) };
    const head = 5 + width;
    pen.strokeStyle = pen.fillStyle = colour;
    pen.lineWidth = width;
    pen.setLineDash(dash);
    pen.beginPath();
    const start = Math.atan2(middle.y - from.y, middle.x - from.x);
    pen.moveTo(from.x + Math.cos(start) * from.radius, from.y + Math.sin(start) * from.radius);
    pen.quadraticCurveTo(middle.x, middle.y, end.x - Math.cos(angle) * head * 0.7, end.y - Math.sin(angle) * head * 0.7);
    pen.stroke();
    pen.setLineDash([]);
    pen.beginPath();
    pen.moveTo(end.x, end.y);
    for (const side of [2.7, -2.7]) pen.lineTo(end.x + Math.cos(angle + side) * head, end.y + Math.sin(angle + side) * head);
    pen.closePath();
    pen.fill();
  }

  // The selected region first, then by size; a label that would cover another one or a large circle is left out.
  drawLabels(places, near) {
    const { pen } = this;
    const taken = [];
    const large = places.filter((place) => place.radius > 7 && this.isSeen(place));
    const order = this.selected < 0 ? [] : [this.selected];
    for (let k = 0; k < places.length; k++) if (k !== this.selected) order.push(k);
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    pen.lineJoin = "round";
    let [n, tries] = [0, 0];
    const most = Math.max((this.width * this.height) / LABEL_PX, 8);
    for (const k of order) {
      if (n >= most || tries > 600) break;
      const place = places[k];
      const isNear = near !== null && near.has(k);
      if (!this.isSeen(place) || (near !== null && !isNear)) continue;
      if (place.radius < 3.5 && !isNear && this.regions.length > 60) continue;
      tries += 1;
      n += this.drawLabel(k, place, taken, large) ? 1 : 0;
    }
  }

  drawLabel(k, place, taken, large) {
    const { pen, colours } = this;
    const isSelected = k === this.selected;
    const text = shortened(this.regions[k].label || "(no host)");
    const weight = isSelected || place.radius > 26 ? 600 : 400;
    let width;
    for (const size of place.radius > 26 ? [14, 12] : [12]) {
      pen.font = `${weight} ${size}px ${this.font}`;
      width = pen.measureText(text).width + 6;
      if (width < 2 * place.radius - 6) break;
    }
    const [down, aside] = [place.radius + 10, place.radius + width / 2 + 2];
    const outside = [[0, down], [0, -down], [aside, 0], [-aside, 0]].map(([dx, dy]) => ({ dx, dy, on: [place, ...large] }));
    const across = { dx: 0, dy: 0, on: [] }; // a large circle may have its name across it
    const isInside = width < 2 * place.radius - 6;
    for (const { dx, dy, on } of isInside ? [across] : place.radius > 14 || isSelected ? [...outside, across] : outside) {
      const x = Math.min(Math.max(place.x + dx, width / 2 + 2), this.width - width / 2 - 2);
      const y = place.y + dy;
      const box = { left: x - width / 2, right: x + width / 2, top: y - 8.5, bottom: y + 8.5 };
      if (box.top < 0 || box.bottom > this.height) continue;
      const isFree = !taken.some((other) => overlap(box, other)) && !on.some((one) => covers(one, box));
      if (!isFree) continue;
      taken.push(box);
      pen.lineWidth = 3.5;
      pen.strokeStyle = isInside ? colours.circles[this.shares[k]] : colours.paper;
      pen.fillStyle = isInside ? colours.letters[this.shares[k]] : colours.ink;
      pen.strokeText(text, x, y);
      pen.fillText(text, x, y);
      return true;
    }
    return false;
  }

  // --- selection --------------------------------------------------------------------------------------------------

  show(k) {
    if (k === this.selected) return;
    this.selected = k;
    for (const row of document.querySelectorAll(".regions tr.pointed")) row.classList.remove("pointed");
    if (k >= 0) {
      document.querySelector(`.regions tr[data-place="${k}"]`)?.classList.add("pointed");
      this.panel.replaceChildren(...this.describe(k));
    }
    this.draw();
  }

  describe(k) {
    const { name, rank, n_pages: n, n_others: others } = this.regions[k];
    const { sources, targets, mass } = this.links;
    const link = element("a", name || "(no host)");
    link.href = address(name);
    const who = element("div");
    const heading = element("p", "", "who");
    heading.append(link);
    who.append(heading, element("p", `${share(rank)} of the rank, no. ${(k + 1).toLocaleString("en")}`));
    const known = others ? `, of ${(n + others).toLocaleString("en")} known` : "";
    who.append(element("p", `${n.toLocaleString("en")} ${n === 1 ? "page" : "pages"} fetched${known}`));
    const flows = (title, kind, found, ends) => {
      const part = element("div", "", kind);
      const list = element("ol");
      const best = found.slice(0, 4);
      for (const at of best) {
        const item = element("li");
        item.append(element("span", this.regions[ends[at]].label || "(no host)", "name"), element("span", share(mass[at]), "number"));
        list.append(item);
      }
      part.append(element("h2", title), best.length ? list : element("p", "none", "quiet"));
      return part;
    };
    return [
      who,
      flows("⇠ comes from", "in", this.in[k], sources),
      flows("→ goes to", "out", this.out[k], targets),
    ];
  }

  open(k) {
    location.href = address(this.regions[k].name);
  }

  filter(words) {
    const query = words.toLowerCase().split(/\s+/).filter(Boolean);
    const found = query.length ? new Set() : null;
    if (found) {
      this.regions.forEach(({ name }, k) => {
        if (query.every((word) => name.toLowerCase().includes(word))) found.add(k);
      });
    }
    this.matches = found;
    this.draw();
  }

  // The next circle in a direction; near, straight ahead and large ones are preferred.
  next(dx, dy) {
    if (this.selected < 0) return 0;
    const from = this.place(this.selected);
    let [best, least] = [this.selected, Infinity];
    for (let k = 0; k < this.regions.length; k++) {
      const to = this.place(k);
      const [ax, ay] = [to.x - from.x, to.y - from.y];
      const along = ax * dx + ay * dy;
      const aside = Math.abs(ax * dy) + Math.abs(ay * dx);
      if (k === this.selected || along <= 0 || aside > 1.2 * along) continue;
      const cost = (along + 2 * aside) / Math.sqrt(to.radius);
      if (cost < least) [best, least] = [k, cost];
    }
    return best;
  }

  goTo(k) {
    const { x, y } = this.place(k);
    const margin = 30;
    if (x < margin || y < margin || x > this.width - margin || y > this.height - margin) {
      this.move(this.width / 2 - x, this.height / 2 - y);
    }
    this.show(k);
  }

  // --- input ------------------------------------------------------------------------------------------------------

  listen() {
    const { canvas, stage } = this;
    const pointers = new Map(); // fingers and buttons that are down
    let travelled = 0;

    const here = (event) => {
      const box = canvas.getBoundingClientRect();
      return { x: event.clientX - box.left, y: event.clientY - box.top };
    };
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      pointers.set(event.pointerId, here(event));
      travelled = pointers.size > 1 ? Infinity : 0;
      stage.focus({ preventScroll: true });
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      const now = here(event);
      const before = pointers.get(event.pointerId);
      if (!before) {
        const k = this.at(now.x, now.y);
        canvas.classList.toggle("on", k >= 0);
        if (k >= 0 || event.pointerType === "mouse") this.show(k);
        return;
      }
      const [dx, dy] = [now.x - before.x, now.y - before.y];
      if (pointers.size === 2) {
        const other = [...pointers].find(([id]) => id !== event.pointerId)[1];
        const [was, is] = [Math.hypot(before.x - other.x, before.y - other.y), Math.hypot(now.x - other.x, now.y - other.y)];
        this.zoom(is / (was || 1), (now.x + other.x) / 2, (now.y + other.y) / 2);
      } else {
        travelled += Math.hypot(dx, dy);
        if (travelled > 5) {
          canvas.classList.add("held");
          this.move(dx, dy);
        }
      }
      pointers.set(event.pointerId, now);
    });
    const lift = (event) => {
      pointers.delete(event.pointerId);
      canvas.classList.remove("held");
    };
    canvas.addEventListener("pointerup", (event) => {
      const wasDown = pointers.has(event.pointerId);
      lift(event);
      if (!wasDown || travelled > 5) return;
      const { x, y } = here(event);
      const k = this.at(x, y, event.pointerType === "touch" ? 14 : 5);
      // A click opens the selected circle. There is no hover on a touch screen, so the first touch selects.
      if (k >= 0 && k === this.selected) this.open(k);
      else this.show(k);
    });
    canvas.addEventListener("pointercancel", lift);
    canvas.addEventListener("pointerleave", (event) => {
      if (event.pointerType === "mouse" && document.activeElement !== stage) this.show(-1);
    });
    stage.addEventListener(
      "wheel",
      (event) => {
        if (!event.ctrlKey && !event.metaKey) return;
        event.preventDefault();
        const { x, y } = here(event);
        this.zoom(Math.exp(-Math.max(Math.min(event.deltaY, 60), -60) / 120), x, y);
      },
      { passive: false },
    );
    stage.addEventListener("keydown", (event) => this.pressed(event));
    for (const button of document.querySelectorAll("[data-zoom]")) {
      button.addEventListener("click", () => {
        if (button.dataset.zoom === "all") this.showAll();
        else this.zoom(button.dataset.zoom === "in" ? 1.6 : 1 / 1.6);
      });
    }
    document.getElementById("q").addEventListener("input", (event) => this.filter(event.target.value));
    const table = document.getElementById("regions");
    const row = (event) => {
      const place = event.target.closest?.("tr[data-place]")?.dataset.place;
      if (place !== undefined && Number(place) < this.regions.length) this.show(Number(place));
    };
    table.addEventListener("mouseover", row);
    table.addEventListener("focusin", row);
    table.addEventListener("mouseleave", () => this.show(-1));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      this.readColours();
      this.draw();
    });
  }

  pressed(event) {
    if (event.target !== this.stage || event.ctrlKey || event.metaKey || event.altKey) return;
    const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    if (event.key in arrows) {
      if (this.regions.length) this.goTo(this.next(...arrows[event.key]));
    } else if (event.key === "+" || event.key === "=") this.zoom(1.4);
    else if (event.key === "-") this.zoom(1 / 1.4);
    else if (event.key === "0" || event.key === "Home") this.showAll();
    else if (event.key === "Escape") this.show(-1);
    else if (event.key === "Enter" && this.selected >= 0) this.open(this.selected);
    else return;
    event.preventDefault();
  }
}

function address(name) {
  return `${document.getElementById("stage").dataset.region}?name=${encodeURIComponent(name)}`;
}

function element(tag, text = "", kind = "") {
  const made = document.createElement(tag);
  made.textContent = text;
  if (kind) made.className = kind;
  return made;
}

// `12.3 %`, `0.0123 %`: three significant digits.
function share(part) {
  if (!(part > 0)) return "0 %";
  return `${(100 * part).toFixed(Math.min(Math.max(2 - Math.floor(Math.log10(100 * part)), 0), 9))} %`;
}

function shortened(name) {
  return name.length <= 32 ? name : `${name.slice(0, 15)}…${name.slice(-15)}`;
}

function overlap(a, b) {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}

function covers({ x, y, radius }, box) {
  const [dx, dy] = [Math.max(box.left - x, 0, x - box.right), Math.max(box.top - y, 0, y - box.bottom)];
  return dx * dx + dy * dy < radius * radius;
}

const stage = document.getElementById("stage");
if (stage) start(stage);
