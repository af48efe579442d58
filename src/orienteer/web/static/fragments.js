// Replaces the fragments of a page that have changed, except those that the user is editing.

const sent = new Map();  // the last HTML of each fragment from the server

export function exchange(fresh, changed = () => {}) {
  for (const part of [...fresh.children]) {
    const old = document.getElementById(part.id);
    if (!old || sameAs(old, part) || isBeingEdited(old)) continue;
    const open = [...old.querySelectorAll("details")].map((each) => each.open);
    const focus = old.contains(document.activeElement) ? selectorOf(document.activeElement) : null;
    const scrolled = [...old.querySelectorAll(".scroll")].map((each) => each.scrollLeft);
    sent.set(part.id, part.innerHTML);
    old.hidden = part.hidden;
    old.replaceChildren(...part.childNodes);
    old.querySelectorAll("details").forEach((each, k) => { each.open = open[k] ?? false; });
    old.querySelectorAll(".scroll").forEach((each, k) => { each.scrollLeft = scrolled[k] ?? 0; });
    if (focus) (old.querySelector(focus) ?? onlyButton(old))?.focus({ preventScroll: true });
    changed(part.id);
  }
}

// Find the button that replaced another one, such as Resume instead of Stop.
function onlyButton(part) {
  const buttons = part.querySelectorAll("button");
  return buttons.length === 1 ? buttons[0] : null;
}

function sameAs(old, part) {
  return (sent.get(part.id) ?? old.innerHTML) === part.innerHTML;
}

// A field with unsaved input must not be replaced.
function isBeingEdited(part) {
  const field = document.activeElement;
  return field instanceof HTMLInputElement && part.contains(field) && field.value !== field.defaultValue;
}

function selectorOf(element) {
  if (element.matches("svg.drawing")) return "svg.drawing";
  if (element.hasAttribute("href")) return `${element.localName}[href="${CSS.escape(element.getAttribute("href"))}"]`;
  const form = element.form?.getAttribute("action");
  const button = form ? `form[action="${CSS.escape(form)}"] button` : "button";
  return element.matches("button") ? button : element.getAttribute("name") ? `[name="${element.name}"]` : null;
}
