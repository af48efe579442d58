// A part of a page that is asked for again every other second, while somebody looks at it.

import { exchange } from "./parts.js";

const EVERY_MS = 2000;

for (const part of document.querySelectorAll("[data-live]")) {
  let isAsking = false;
  const look = async () => {
    if (isAsking || document.hidden) return;
    isAsking = true;
    try {
      const answer = await fetch(part.dataset.live, { headers: { Accept: "text/html" } });
      if (answer.ok) exchange(new DOMParser().parseFromString(await answer.text(), "text/html").body);
    } catch {
      // The server has gone; it may be back soon.
    } finally {
      isAsking = false;
    }
  };
  setInterval(look, EVERY_MS);
  document.addEventListener("visibilitychange", look);
}
