// An archived page: scripts cannot read the location of the frame, but the server knows it. So the bar is requested again
// after each load of the frame.

const bar = document.getElementById("bar");
const frame = document.getElementById("archived");

async function refresh() {
  const response = await fetch(bar.dataset.bar + "?view=" + encodeURIComponent(bar.dataset.view)).catch(() => null);
  if (response?.status !== 200 || bar.contains(document.activeElement)) return;
  const fresh = new DOMParser().parseFromString(await response.text(), "text/html").body;
  if (fresh.innerHTML === bar.innerHTML) return;
  const isOpen = bar.querySelector("details")?.open;
  bar.replaceChildren(...fresh.childNodes);
  if (isOpen) bar.querySelector("details")?.setAttribute("open", "");
  const form = bar.querySelector("form");
  if (form) history.replaceState(null, "", form.getAttribute("action") + "?" + new URLSearchParams(new FormData(form)));
  listen();
}

function listen() {
  bar.querySelector("select")?.addEventListener("change", (event) => event.target.form.requestSubmit());
}

frame.addEventListener("load", () => { refresh(); setTimeout(refresh, 2000); });  // some pictures load late
refresh();  // it may have loaded before this script
listen();
