// Exchanges the parts of a page that have changed, and leaves alone what somebody is using.

const shown = new Map();  // what the server sent of each part, last

export function exchange(fresh, changed = () => {}) {
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
    if (focus) (old.querySelector(focus) ?? onlyButton(old))?.focus({ preventScroll: true });
    changed(part.id);
  }
}

// A button that was exchanged for another one, such as Stop for Resume.
function onlyButton(part) {
  const buttons = part.querySelectorAll("button");
  return buttons.length === 1 ? buttons[0] : null;
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
  const form = element.form?.getAttribute("action");
  const button = form ? `form[action="${CSS.escape(form)}"] button` : "button";
  return element.matches("button") ? button : element.getAttribute("name") ? `[name="${element.name}"]` : null;
}
