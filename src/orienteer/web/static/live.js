// Reloads the live fragments of a page every two seconds while the page is visible.

import { exchange } from "./fragments.js";

const EVERY_MS = 2000;

for (const part of document.querySelectorAll("[data-live]")) {
  let isLoading = false;
  const load = async () => {
    if (isLoading || document.hidden) return;
    isLoading = true;
    try {
      const response = await fetch(part.dataset.live, { headers: { Accept: "text/html" } });
      if (response.ok) exchange(new DOMParser().parseFromString(await response.text(), "text/html").body);
    } catch {
      // The server is not running; try again later.
    } finally {
      isLoading = false;
    }
  };
  setInterval(load, EVERY_MS);
  document.addEventListener("visibilitychange", load);
}
