// Compare: switch curves on and off, highlight one, and read values at any number of pages.

const compared = document.getElementById("compared");
if (compared) {
  const boxes = [...compared.querySelectorAll("input[name=show]")];
  const groups = [...compared.querySelectorAll("g.series")];
  const items = new Map([...compared.querySelectorAll("li[data-series]")].map((item) => [item.dataset.series, item]));
  const charts = compared.querySelector(".charts");
  const at = document.getElementById("at");
  const initial = new Set(JSON.parse(compared.dataset.default)); // drawn if the address names none

  const show = () => {
    const on = new Set(boxes.filter((box) => box.checked).map((box) => box.value));
    for (const group of groups) {
      const visible = group.dataset.style === "limit" || on.has(group.dataset.series);
      if (visible) group.removeAttribute("display");
      else group.setAttribute("display", "none");
    }
    const address = new URL(location.href);
    address.searchParams.delete("show");
    if (on.size !== initial.size || ![...on].every((name) => initial.has(name))) for (const name of on) address.searchParams.append("show", name);
    history.replaceState(null, "", address);
  };

  const highlight = (name) => {
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
    item.addEventListener("mouseenter", () => highlight(name));
    item.addEventListener("mouseleave", () => highlight(null));
    item.addEventListener("focusin", () => highlight(name));
    item.addEventListener("focusout", () => highlight(null));
  }
  for (const group of groups) {
    if (group.dataset.style === "limit") continue;
    group.addEventListener("pointerenter", () => highlight(group.dataset.series));
    group.addEventListener("pointerleave", () => highlight(null));
  }
  readOff();

  async function readOff() {
    const response = await fetch(`${compared.dataset.api}?name=${encodeURIComponent(compared.dataset.name)}`);
    if (!response.ok) return;
    const comparison = (await response.json()).comparison;
    for (const figure of compared.querySelectorAll("figure.chart")) {
      const chart = comparison.charts[Number(figure.dataset.chart)];
      const svg = figure.querySelector("svg");
      svg.addEventListener("pointermove", (event) => pointed(svg, chart, event));
      svg.addEventListener("pointerleave", () => left(svg));
    }
  }

  function pointed(svg, chart, event) {
    const box = svg.getBoundingClientRect();
    const { left: from, right: to } = svg.dataset;
    const position = ((event.clientX - box.left) / box.width) * svg.viewBox.baseVal.width;
    const share = Math.min(Math.max((position - from) / (to - from), 0), 1);
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

  // The last value at or before x; null beyond the end of the curve.
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
