"""Superscripts, subscripts and formulas as text: `10<sup>23</sup>` must not become 1023.

Superscripts and subscripts become the characters of Unicode where these exist (10²³, H₂O), and TeX otherwise
(x^{max}). A formula becomes one element, FORMULA, with its TeX source in dollar signs, in place of all that sites add
to show it: MathML, the output of KaTeX and MathJax, images. The source is the one that the page states; MathML without
one is written as TeX here. All this takes time that is linear in the size of the page.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from orienteer.extract.page_text import BLOCKS
from orienteer.extract.parser import Namespace, Text, TreeElement

FORMULA = "tex-formula"  # the name of the element; on pages it has no meaning
_MAX_TEX_CHARS = 4_000
_MAX_RAISED_CHARS = 40
_MAX_DEPTH = 40  # of MathML
_MAX_WRAPPERS = 6  # elements around a formula that only show it
_MAX_TEXTS = 50  # of an element in which to look for a formula
_N_VERBATIM = 3  # ancestors that may be code

_NUMERIC = "0123456789+-−=()"
_SUPERSCRIPTS = dict(zip(_NUMERIC, "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾", strict=True)) | dict(
    zip("abcdefghijklmnoprstuvwxyzABDEGHIJKLMNOPRTUVW", "ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻᴬᴮᴰᴱᴳᴴᴵᴶᴷᴸᴹᴺᴼᴾᴿᵀᵁⱽᵂ", strict=True)
)
_SUBSCRIPTS = dict(zip(_NUMERIC, "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎", strict=True)) | dict(
    zip("aehijklmnoprstuvx", "ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ", strict=True)
)
_MARKS = {"tm": "™", "sm": "℠"}
# Endings of ordinal numbers and abbreviations, which are raised for their looks only, and whole words, such as "new".
_PLAIN = re.compile(r"st|nd|rd|th|er|re|ers|res|ère|me|mes|eme|ème|ième|lle|nde|gr|\W+|[^\W\d_]{3,}", re.IGNORECASE)
_VARIABLE = re.compile(r"(?<![^\W\d_])[^\W\d_]{1,2}$")  # a word of one or two letters
_LETTERS = re.compile(r"[^\W\d_]{2}")  # of words, unlike those of formulas
_CENTS = re.compile(r"[.,]\d+")
_FOOTNOTE = re.compile(r"\[.*\]|\(.*\)|[*†‡§¶#,;.\s]+", re.DOTALL)
_VERBATIM = ("code", "kbd", "listing", "pre", "samp", "textarea")

_SIGNS = (b"\\", b"$", b"^")
_STATED = "[data-tex],[data-latex]"
_MARKED = ".math,.arithmatex,img.tex,img.latex"
_DELIMITED = re.compile(r"\s*(?:\\\((.+)\\\)|\\\[(.+)\\\]|\$\$(.+)\$\$|\$(.+)\$)\s*", re.DOTALL)
_TEX_TYPES = ("application/x-tex", "tex", "latex", "application/x-latex")
_WRAPPER = re.compile(r"\b(?:katex|mwe-math|mathjax|mjx)", re.IGNORECASE)  # classes of elements that show a formula
_RENDERED = re.compile(r"\bMathJax")  # classes of elements that MathJax puts before a script with TeX
_STYLE = re.compile(r"\{\\(?:displaystyle|textstyle)\s(.*)\}", re.DOTALL)
_INVISIBLE = dict.fromkeys(range(0x2061, 0x2065))  # operators


def may_have_formulas(html: bytes) -> bool:
    """Whether a page may have TeX that is more than a letter or a number, outside of MathML and scripts."""
    return any(sign in html for sign in _SIGNS)


def write_stated(body: TreeElement) -> None:
    """Replace elements of a page that are TeX, or state it."""
    for element in body.select(_STATED):
        if element.namespace is Namespace.HTML:
            _replace(element, element.attr("data-tex") or element.attr("data-latex") or "")
    for element in body.select(_MARKED):
        if element.tag == "img":
            _replace(element, element.attr("alt") or "")
        else:
            _replace_delimited(element)


def write_formulas(maths: Iterable[TreeElement], scripts: Iterable[TreeElement]) -> None:
    """Replace `math` elements, and scripts with TeX."""
    for script in scripts:
        _remove_rendered_before(script)
        _replace(script, script.text)
    for math in _outermost(maths, "math"):
        _replace(_wrapper(math), _stated_tex(math) or _tex_of(math, 0))


def write_raised(elements: Iterable[TreeElement]) -> None:
    """Write these superscripts and subscripts as text."""
    for element in _outermost(elements, ("sub", "sup")):
        nodes = [node for node in element.descendants if isinstance(node, Text)]
        parents = islice(element.ancestors, _N_VERBATIM)
        if nodes and not any(isinstance(parent, TreeElement) and parent.tag in _VERBATIM for parent in parents):
            _write(element.tag, nodes, _before(element))


def _outermost(elements: Iterable[TreeElement], names: str | tuple[str, ...]) -> Iterator[TreeElement]:
    """Yield the elements that are not within another one; they come in document order."""
    inner: set[TreeElement] = set()
    for element in elements:
        if element not in inner:
            inner.update(element.iter_elements(names))
            yield element


# Superscripts and subscripts


def _write(name: str, nodes: list[Text], before: str) -> None:
    text = "".join(node.data for node in nodes).strip()
    characters = _SUPERSCRIPTS if name == "sup" else _SUBSCRIPTS
    if _FOOTNOTE.fullmatch(text) is not None or _CENTS.fullmatch(text) is not None:
        return
    if _LETTERS.search(text) is None and all(character in characters or character.isspace() for character in text):
        for node in nodes:
            node.data = "".join(characters.get(character, character) for character in node.data)
    elif name == "sup" and text.lower() in _MARKS:
        _set_text(nodes, _MARKS[text.lower()])
    elif name == "sup" and _PLAIN.fullmatch(text) is not None and (len(text) < 3 or not _VARIABLE.search(before)):
        return
    elif len(text) <= _MAX_RAISED_CHARS and before.strip():
        nodes[0].data = f"{'^' if name == 'sup' else '_'}{{{nodes[0].data.lstrip()}"
        nodes[-1].data = f"{nodes[-1].data.rstrip()}}}"


def _set_text(nodes: list[Text], text: str) -> None:
    for node in nodes:
        node.data = ""
    nodes[0].data = text


def _before(element: TreeElement) -> str:
    """Return the last characters before an element in its line; "" if they are not near."""
    previous = element.previous_sibling
    if isinstance(previous, TreeElement):
        if previous.tag in BLOCKS:
            return ""
        previous = next((child for child in previous.children if isinstance(child, Text)), None)
    return previous.data[-3:] if isinstance(previous, Text) else ""


# Formulas


def _replace(node: TreeElement | Text, tex: str) -> None:
    """Put a formula in place of a node, unless its source is unknown."""
    tex = " ".join(tex.split())
    if (inner := _STYLE.fullmatch(tex)) is not None:
        tex = inner[1].strip()
    tex = tex.strip("$ ")
    if tex and len(tex) <= _MAX_TEX_CHARS and node.parent is not None:
        formula = TreeElement(FORMULA)
        formula.append(Text(f"${tex}$"))
        node.replace_with(formula)


def _replace_delimited(element: TreeElement) -> None:
    """Replace a text that is TeX in delimiters, as `\\(x^2\\)`."""
    for node in islice(element.descendants, _MAX_TEXTS):
        if isinstance(node, Text) and (found := _DELIMITED.fullmatch(node.data[: _MAX_TEX_CHARS + 1])) is not None:
            _replace(node, next(filter(None, found.groups())))
            return


def _remove_rendered_before(script: TreeElement) -> None:
    """Remove what MathJax has put before a script of TeX."""
    while isinstance(previous := script.previous_sibling, TreeElement):
        if _RENDERED.search(previous.attr("class") or "") is None:
            break
        previous.extract()


def _wrapper(math: TreeElement) -> TreeElement:
    """Return the outermost element around a formula that only shows it."""
    outer = math
    for _ in range(_MAX_WRAPPERS):
        parent = outer.parent
        if not isinstance(parent, TreeElement) or parent.tag == "body":
            break
        if not parent.tag.startswith("mjx-") and _WRAPPER.search(parent.attr("class") or "") is None:
            break
        outer = parent
    return outer


def _stated_tex(math: TreeElement) -> str:
    """Return the TeX source that MathML states."""
    for annotation in math.iter_elements("annotation"):
        if (annotation.attr("encoding") or "").lower() in _TEX_TYPES:
            return annotation.text
    return math.attr("data-latex") or math.attr("data-tex") or math.attr("alttext") or ""


def _tex_of(node: TreeElement, depth: int) -> str:
    """Write MathML as TeX; elements without a rule are written one after the other."""
    children = [child for child in node.children if isinstance(child, TreeElement) and child.tag not in _NOT_SHOWN]
    if not children or depth == _MAX_DEPTH:
        return " ".join(node.text.translate(_INVISIBLE).split())
    arguments = [_tex_of(child, depth + 1) for child in children]
    if node.tag == "msqrt":
        return rf"\sqrt{{{''.join(arguments)}}}"
    rule = _TEX_RULES.get((node.tag, len(arguments)))
    return _SEPARATORS.get(node.tag, "").join(arguments) if rule is None else rule(*arguments)


def _below(base: str, part: str) -> str:
    return f"{_group(base)}_{_group(part)}"


def _above(base: str, part: str) -> str:
    return f"{_group(base)}^{_group(part)}"


def _both(base: str, below: str, above: str) -> str:
    return f"{_below(base, below)}^{_group(above)}"


def _group(part: str) -> str:
    return part if len(part) == 1 else f"{{{part}}}"


_NOT_SHOWN = ("annotation", "annotation-xml", "mphantom", "mspace")
_SEPARATORS = {"mtable": r" \\ ", "mtr": " & "}
_TEX_RULES: dict[tuple[str, int], Callable[..., str]] = {  # by the number of arguments
    ("mfrac", 2): lambda above, below: rf"\frac{{{above}}}{{{below}}}",
    ("mroot", 2): lambda inner, degree: rf"\sqrt[{degree}]{{{inner}}}",
    ("msub", 2): _below,
    ("munder", 2): _below,
    ("msup", 2): _above,
    ("mover", 2): _above,
    ("msubsup", 3): _both,
    ("munderover", 3): _both,
}
