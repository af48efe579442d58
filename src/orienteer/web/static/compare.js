// Compare: contenders are switched on and off, pointed at, and read off at any number of pages.

const compared = document.getElementById("compared");
if (compared) {
  const boxes = [...compared.querySelectorAll("input[name=show]")];
  const groups = [...compared.querySelectorAll("g.series")];
  const items = new Map([...compared.querySelectorAll("li[data-series]")].map((item) => [item.dataset.series, item]));
  const charts = compared.querySelector(".charts");
  const at = document.getElementById("at");
  const usual = new Set(JSON.parse(compared.dataset.default)); // shown where the address does not say which

  const show = () => {
    const on = new Set(boxes.filter((box) => box.checked).map((box) => box.value));
    for (const group of groups) {
      const visible = group.dataset.style === "limit" || on.has(group.dataset.series);
      if (visible) group.removeAttribute("display");
      else group.setAttribute("display", "none");
    }
    const address = new URL(location.href);
    address.searchParams.delete("show");
    if (on.size !== usual.size || ![...on].every((name) => usual.has(name))) for (const name of on) address.searchParams.append("show", name);
    history.replaceState(null, "", address);
  };

  const look = (name) => {
    charts.classList.toggle("looking", name !== null);
    for (const group of groups) group.classList.toggle("looked", group.dataset.series === name);
  };

  compared.querySelector(".apply").hidden = true;
  for (const button of compared.querySelectorAll("[data-all]")) {
    button.hidden = false;
    button.addEventListener("click", () => {
      for (const box of boxes) box.checked = button.dataset.all === "on";
      show();
    });
  }
  for (const box of boxes) box.addEventListener("change", show);
  for (const [name, item] of items) {
    item.addEventListener("mouseenter", () => look(name));
    item.addEventListener("mouseleave", () => look(null));
    item.addEventListener("focusin", () => look(name));
    item.addEventListener("focusout", () => look(null));
  }
  for (const group of groups) {
    if (group.dataset.style === "limit") continue;
    group.addEventListener("pointerenter", () => look(group.dataset.series));
    group.addEventListener("pointerleave", () => look(null));
  }
  readOff();

  async function readOff() {
    const answer = await fetch(`${compared.dataset.api}?name=${encodeURIComponent(compared.dataset.name)}`);
    if (!answer.ok) return;
    const told = (await answer.json()).comparison;
    for (const figure of compared.querySelectorAll("figure.chart")) {
      const chart = told.charts[Number(figure.dataset.chart)];
      const svg = figure.querySelector("svg");
      svg.addEventListener("pointermove", (event) => pointed(svg, chart, event));
      svg.addEventListener("pointerleave", () => left(svg));
    }
  }

  function pointed(svg, chart, event) {
    const box = svg.getBoundingClientRect();
    const { left: from, right: to } = svg.dataset;
    const place = ((event.clientX - box.left) / box.width) * svg.viewBox.baseVal.width;
    const share = Math.min(Math.max((place - from) / (to - from), 0), 1);
    const [first, last] = [Number(svg.dataset.from), Number(svg.dataset.to)];
    const x = svg.dataset.scale === "log" ? first * (last / first) ** share : first + (last - first) * share;
    const cursor = svg.querySelector(".cursor");
    const drawn = Number(from) + share * (to - from);
    cursor.setAttribute("x1", drawn);
    cursor.setAttribute("x2", drawn);
    cursor.removeAttribute("display");
    const rounded = Math.max(Math.round(x), 1);
    at.textContent = `${chart.title}, at ${rounded.toLocaleString("en")} ${chart.x_title}`;
    for (const series of chart.series) {
      if (series.style !== "line" || !items.has(series.name)) continue;
      const value = items.get(series.name).querySelector(".value");
      const found = valueAt(series, rounded);
      value.textContent = found === null ? "–" : `${(100 * found).toFixed(found > 0.9 ? 2 : 1)} %`;
      value.hidden = false;
    }
  }

  function left(svg) {
    svg.querySelector(".cursor").setAttribute("display", "none");
    at.textContent = "";
    for (const item of items.values()) item.querySelector(".value").hidden = true;
  }

  // The last value at or before x: a curve says nothing of what is behind its end.
  function valueAt({ positions, values }, x) {
    if (!positions.length || x < positions[0] || x > positions[positions.length - 1] * 1.001) return null;
    let low = 0;
    let high = positions.length;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (positions[middle] <= x) low = middle;
      else high = middle;
    }
    return values[low];
  }
}
