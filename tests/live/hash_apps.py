"""Small applications whose pages differ only in the fragment of the URL."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from tests.live.apps import application

_PADDING = "//" + "x" * 10_000


def sections(page: str, n_sections: int) -> list[str]:
    return [f"{page.replace('/', '-')}-{k}" for k in range(n_sections)]


def anchored_application(pages: Sequence[str], n_sections: int, mark: str) -> str:
    """Pages at `#/PAGE`, with links to all pages and to their sections at `#/PAGE` + `mark` + SECTION."""
    texts = {page: sections(page, n_sections) for page in pages}
    return application(
        f"""const texts = {json.dumps(texts)}, mark = {json.dumps(mark)};
function show() {{
  const [page, place] = location.hash.slice(2).split(mark);
  const names = texts[page];
  const link = (to, words, is_on) => `<a href="#/${{to}}" ${{is_on ? 'class=on' : ''}}>${{words}}</a> `;
  root.innerHTML = Object.keys(texts).map((to) => link(to, 'page ' + to, to === page)).join('')
    + (names ? names.map((name) => link(page + mark + name, name, name === place)).join('')
      + names.map((name) => `<h2 id=${{name}}>Section ${{name}}</h2><p>What ${{page}} says in ${{name}}.</p>`).join('')
      : '<p>There is no such page.</p>');
  if (place) document.getElementById(place)?.scrollIntoView();
}}
addEventListener('hashchange', show); show();"""
    )


def documentation(pages: Sequence[str], n_sections: int) -> Mapping[str, str]:
    """An application that loads a file for each page, and has all pages and their sections in its menu."""
    menu = "".join(
        f'<li><a href="#/{page}">{page or "home"}</a><ul>'
        + "".join(f'<li><a href="#/{page}?id={name}">{name}</a></li>' for name in sections(page or "home", n_sections))
        + "</ul></li>"
        for page in pages
    )
    script = """
async function show() {
  const [page, place] = location.hash.slice(2).split('?id=');
  root.textContent = 'loading';
  const answer = await fetch('files/' + (page || 'home') + '.json');
  const file = answer.ok ? await answer.json() : {title: '404', sections: []};
  document.title = file.title;
  root.innerHTML = `<h1>${file.title}</h1>` + file.sections.map((name) =>
    `<h2 id="${name}"><a href="#/${page}?id=${name}">${name}</a></h2><p>About ${name}.</p>`).join('');
  document.querySelectorAll('nav a').forEach((a) => { a.className = a.hash === location.hash ? 'on' : ''; });
  if (place) document.getElementById(place)?.scrollIntoView();
}
window.onhashchange = show; show();"""
    names = [page or "home" for page in pages]
    files = {
        f"/files/{name}.json": json.dumps({"title": name, "sections": sections(name, n_sections)}) for name in names
    }
    return {"/": application(script, f"<nav><ul>{menu}</ul></nav><div id=root></div>"), **files}


def catalogue(n_items: int, follows: str = "always") -> str:
    """Pages that differ in a parameter of the fragment: `#/item?id=3`.

    `follows` says when the application looks at the fragment: "always" when that changes, "path" only when what is
    before the `?` changes, "load" only when the application is loaded.
    """
    return application(
        f"""let path;
function show() {{
  const before = path;
  path = location.hash.split('?')[0];
  if ({json.dumps(follows)} === 'path' && path === before) return;
  if ({json.dumps(follows)} === 'load' && before !== undefined) return;
  const id = location.hash.split('?id=')[1];
  const links = [...Array({n_items}).keys()].map((k) => `<a href="#/item?id=${{k}}">item ${{k}}</a> `).join('');
  const text = path === '#/about' ? 'About the shop.'
    : id === undefined ? 'All items.' : `Item ${{id}} costs ${{3 * id + 1}} coins.`;
  root.innerHTML = `<a href="#/">all</a> <a href="#/about">about</a> ${{links}}<p>${{text}}</p>`;
}}
addEventListener('hashchange', show); show();"""
    )


def named_application(names: Sequence[str]) -> str:
    """Pages at `#NAME`, each with a section that its links also address by a fragment."""
    return application(
        f"""const names = {json.dumps(list(names))};
function show() {{
  const name = location.hash.slice(1);
  const page = names.includes(name) ? name : names[0];
  root.innerHTML = names.map((to) => `<a href="#${{to}}">${{to}}</a> `).join('') + `<a href="#end">end</a>`
    + `<h1>${{page}}</h1><p>All about ${{page}}.</p><p id=end>The end</p>`;
}}
addEventListener('hashchange', show); show();"""
    )


def table_of_contents(n_sections: int, n_broken: int = 0) -> str:
    """An ordinary document with sections; its script highlights the section of the fragment."""
    names = sections("part", n_sections)
    broken = [f"gone-{k}" for k in range(n_broken)]
    return (
        "<!doctype html><title>Manual</title>"
        + "".join(f'<a href="#{name}">{name}</a> ' for name in (*names, *broken))
        + "".join(f"<h2 id={name}>{name}</h2><p>Words about {name}.</p>" for name in names)
        + "<script>addEventListener('hashchange', () => { document.querySelectorAll('a').forEach((a) => "
        f"{{ a.className = a.hash === location.hash ? 'on' : ''; }}); }});{_PADDING}</script>"
    )
