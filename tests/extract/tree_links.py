"""The links of a page from a standard HTML tree, as a reference."""

from __future__ import annotations

from collections.abc import Iterator

from turbohtml import Element, Namespace, Node, parse


def tree_links(html: str) -> list[str]:
    """Return the targets of links as written, in document order, with repeats."""
    return [target for element in _on_page(parse(html)) for target in _targets(element)]


def _on_page(node: Node) -> Iterator[Element]:
    """Yield the elements on a page, without those in templates, but with those in shadow trees."""
    for child in node.children:
        if isinstance(child, Element):
            yield child
            if child.shadow_root is not None:
                yield from _on_page(child.shadow_root)
            if child.tag != "template" or child.namespace is not Namespace.HTML:
                yield from _on_page(child)


def _targets(element: Element) -> Iterator[str]:
    if element.namespace is Namespace.SVG:
        name = "href" if "href" in element.attrs else "xlink:href"
        if element.tag == "a" and name in element.attrs:
            yield element.attrs[name] or ""
    elif element.namespace is Namespace.HTML:
        name = {"a": "href", "area": "href", "frame": "src", "iframe": "src"}.get(element.tag)
        if name is not None and name in element.attrs:
            yield element.attrs[name] or ""
