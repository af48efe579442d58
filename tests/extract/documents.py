"""Random documents in which the meaning of a tag depends on its context: SVG, MathML, templates, tables."""

from __future__ import annotations

import random

CONTAINERS = (
    "div", "p", "ul", "li", "dl", "dd", "dt", "table", "tbody", "tr", "td", "th", "caption", "colgroup", "select",
    "option", "optgroup", "button", "form", "h1", "h2", "b", "i", "a", "nobr", "font", "span", "svg", "g", "desc",
    "title", "foreignObject", "math", "mi", "mtext", "annotation-xml", "template", "noscript", "object", "ruby", "rt",
    "style", "script", "textarea", "iframe", "noframes", "noembed", "xmp", "head", "body", "html", "fieldset",
    "address", "applet", "x-own", "pre", "u",
)  # fmt: skip
ODD = (
    "<svg/>", "<math/>", "<svg><title/>", "<br>", "</br>", "</p>", "<img src=i>", "<input>", "<input type=hidden>",
    "<frameset>", "<frameset><frame src=#>", "</frameset>", "<frame src=#>", "<plaintext>", "<col>", "<hr>",
    "<![CDATA[", "]]>", "<!--", "-->", "<!-->", "<?a >", "</ x>", "<", "&", "<font color=red>", "<mglyph>",
    "<script><!--",
    "<annotation-xml encoding='text/html'>", "<annotation-xml encoding=application/xhtml+xml>", "<!doctype html>",
    "<template shadowrootmode=open>", "<div><template shadowrootmode=open>", "<svg a=b/>", "<a href=#/>", "<desc/>",
)  # fmt: skip


def random_document(rng: random.Random, n_pieces: int = 24) -> str:
    """Return a document of tags, most of them of containers, with numbered links."""
    pieces, opened = [], []
    if rng.random() < 0.5:
        pieces.append("<!doctype html>")
    for k in range(rng.randrange(1, n_pieces)):
        kind = rng.random()
        if kind < 0.35:
            name = rng.choice(CONTAINERS)
            opened.append(name)
            pieces.append(f"<{name} id={k}>" if rng.random() < 0.2 else f"<{name}>")
        elif kind < 0.5 and opened:
            pieces.append(f"</{opened.pop() if rng.random() < 0.6 else rng.choice(opened)}>")
        elif kind < 0.58:
            pieces.append(f"</{rng.choice(CONTAINERS)}>")
        elif kind < 0.86:
            pieces.append(_link(rng, k))
        elif kind < 0.95:
            pieces.append(rng.choice(ODD).replace("#", str(k)))
        else:
            pieces.append(rng.choice(("text", " ", "\n", "x<y")))
    return "".join(pieces)


def _link(rng: random.Random, k: int) -> str:
    kind = rng.random()
    if kind < 0.7:
        return f"<a href={k}>" + rng.choice(("", "</a>", "x</a>"))
    if kind < 0.8:
        return f"<area href={k}>"
    if kind < 0.9:
        return f"<iframe src={k}></iframe>"
    return f"<a xlink:href={k}>"
