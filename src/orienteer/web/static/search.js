/* Keys and completion of the search page. Everything works without it: it adds a list of suggestions to the field, `/`
   to focus it, and arrow keys to move through the results. */

"use strict";

(() => {
  const field = document.getElementById("q");
  const form = field && field.form;
  if (!form) return;

  const list = document.createElement("ul");
  const source = form.dataset.complete;
  let chosen = -1; // of the suggestions
  let typed = field.value; // the text that the user typed, not one from a suggestion
  let asking = null;

  list.id = "suggestions";
  list.className = "suggestions";
  list.hidden = true;
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", "Suggestions");
  form.append(list);
  for (const [name, value] of Object.entries({
    role: "combobox", "aria-expanded": "false", "aria-controls": list.id, "aria-autocomplete": "list",
  })) field.setAttribute(name, value);

  const options = () => [...list.children];

  function close() {
    list.hidden = true;
    chosen = -1;
    field.setAttribute("aria-expanded", "false");
    field.removeAttribute("aria-activedescendant");
  }

  function show(suggestions) {
    list.replaceChildren(...suggestions.map((suggestion, number) => {
      const option = document.createElement("li");
      option.id = `suggestion-${number}`;
      option.setAttribute("role", "option");
      option.setAttribute("aria-selected", "false");
      const text = document.createElement("bdi");
      text.textContent = suggestion.text;
      option.append(text);
      if (suggestion.kind === "title") {
        const kind = document.createElement("span");
        kind.className = "kind";
        kind.textContent = "title";
        option.append(kind);
      }
      option.dataset.text = suggestion.text;
      return option;
    }));
    chosen = -1;
    list.hidden = suggestions.length === 0;
    field.setAttribute("aria-expanded", String(!list.hidden));
    field.removeAttribute("aria-activedescendant");
  }

  function choose(number) {
    const all = options();
    chosen = (number + all.length + 1) % (all.length + 1); // one more: what was typed
    if (chosen === all.length) chosen = -1;
    all.forEach((option, place) => option.setAttribute("aria-selected", String(place === chosen)));
    if (chosen < 0) {
      field.value = typed;
      field.removeAttribute("aria-activedescendant");
    } else {
      field.value = all[chosen].dataset.text;
      field.setAttribute("aria-activedescendant", all[chosen].id);
      all[chosen].scrollIntoView({ block: "nearest" });
    }
  }

  async function complete() {
    typed = field.value;
    if (asking) asking.abort();
    if (!source || !typed.trim()) return close();
    asking = new AbortController();
    const { signal } = asking;
    const address = new URL(source, location.href);
    address.searchParams.set("q", typed);
    for (const box of form.elements) if (box.name === "crawl" && box.checked) address.searchParams.append("crawl", box.value);
    try {
      const response = await fetch(address, { signal, headers: { Accept: "application/json" } });
      if (!response.ok) return close();
      const { suggestions } = await response.json();
      if (!signal.aborted && document.activeElement === field) show(suggestions);
    } catch (error) {
      if (error.name !== "AbortError") close(); // the server is not running; the field still works
    }
  }

  field.addEventListener("input", complete);
  field.addEventListener("blur", close);
  list.addEventListener("pointerdown", (event) => {
    event.preventDefault(); // the field keeps the focus
    const option = event.target.closest("[role=option]");
    if (!option || event.button !== 0) return;
    field.value = option.dataset.text;
    close();
    form.requestSubmit();
  });

  field.addEventListener("keydown", (event) => {
    if (event.isComposing || event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      if (!list.hidden) choose(event.key === "ArrowDown" ? chosen + 1 : chosen < 0 ? options().length - 1 : chosen - 1);
      else if (event.key === "ArrowUp" || !go(0)) return;
      event.preventDefault();
    } else if (event.key === "Escape" && !list.hidden) {
      field.value = typed;
      close();
      event.preventDefault(); // Escape would otherwise empty the field
    } else if (event.key === "Enter") {
      if (asking) asking.abort();
      close();
    }
  });

  // The results may be replaced at any time, so they are looked up at each key.
  const results = () => [...document.querySelectorAll(".results h2 a")];

  function go(number) {
    const link = results()[number];
    if (link) link.focus();
    return Boolean(link);
  }

  document.addEventListener("keydown", (event) => {
    if (event.isComposing || event.ctrlKey || event.altKey || event.metaKey || event.defaultPrevented) return;
    const at = event.target;
    if (event.key === "/" && !at.closest("input, textarea, select, [contenteditable]")) {
      event.preventDefault();
      field.focus();
      field.select();
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      const place = results().indexOf(at);
      if (place < 0) return;
      event.preventDefault();
      if (event.key === "ArrowDown") go(place + 1);
      else if (place) go(place - 1);
      else field.focus();
    }
  });
})();
