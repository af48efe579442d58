"""Superscripts, subscripts and formulas: what people copy out of a text is what the page shows."""

from __future__ import annotations

import random

from orienteer.exports.markdown_blocks import markdown_of
from orienteer.extract.blocks import text_of
from orienteer.extract.page import extract_page
from orienteer.search.words import analyzer, normalized
from tests.tables import over_rows

URL = "http://example.org/"
X2 = "<mrow><msup><mi>x</mi><mn>2</mn></msup></mrow>"
MATHML = f'<math><semantics>{X2}<annotation encoding="application/x-tex">x^2</annotation></semantics></math>'


def text(html: str) -> str:
    page = extract_page(html.encode(), URL, with_blocks=True, with_scores=True)
    assert text_of(page.blocks) == page.text
    return page.text


def markdown(html: str) -> str:
    page = extract_page(html.encode(), URL, with_blocks=True)
    return markdown_of(page.blocks, page.base).strip("\n")


@over_rows(
    ("html", "expected"),
    [
        ("10<sup>23</sup> H<sub>2</sub>O SO<sub>4</sub><sup>2−</sup> <sup>13</sup>C", "10²³ H₂O SO₄²⁻ ¹³C"),
        ("x<sup>n</sup>, x<sup>2n+1</sup>, a<sub>i</sub>", "xⁿ, x²ⁿ⁺¹, aᵢ"),
        ("x<sup>max</sup> e<sup>ix</sup> a<sub>ij</sub> <i>x</i><sup>q</sup>", "x^{max} e^{ix} a_{ij} x^{q}"),
        ("2<sup>n<sub>2</sub></sup>", "2ⁿ²"),
        ("the 1<sup>st</sup>, XX<sup>e</sup>, M<sup>me</sup>", "the 1st, XXᵉ, Mme"),
        ("Name<sup>TM</sup> Name<sup>®</sup> Mail<sup>BETA</sup>", "Name™ Name® MailBETA"),
        ("word<sup><a href=#f>1</a></sup> word<sup>[2]</sup> word<sup>*</sup>", "word¹ word[2] word*"),
        ("$159<sup>.99</sup> 1024<sup>2 or 4</sup> (<sup>GR 1</sup>)", "$159.99 1024^{2 or 4} (^{GR 1})"),
        ("<p>A.</p><sub>Made with love</sub>", "A.\nMade with love"),
        ("<pre>x<sup>2</sup></pre> <code>y<sup>3</sup></code>", "x2\ny3"),
        ("x<sup></sup><sub> </sub>y", "x y"),
    ],
)
def test_superscripts_and_subscripts(html, expected):
    assert text(html) == expected


@over_rows(
    "html",
    [
        MATHML,
        f'<math alttext="{{\\displaystyle x^2}}">{X2}</math>',
        f"<math data-latex='x^2'>{X2}</math>",
        f"<math>{X2}</math>",
        f'<span class="katex"><span class="katex-mathml">{MATHML}</span><span class="katex-html">x2</span></span>',
        f'<span class="mwe-math-element"><span class="mwe-math-mathml-inline" style="display: none">{MATHML}</span>'
        '<img class="mwe-math-fallback-image-inline" alt="{\\displaystyle x^2}" src=x.svg></span>',
        '<span class="MathJax_Preview">x2</span><span class="MathJax">x2</span><script type="math/tex">x^2</script>',
        "<script type='math/tex; mode=display'>x^2</script>",
        f"<mjx-container><mjx-math>x2</mjx-math><mjx-assistive-mml>{MATHML}</mjx-assistive-mml></mjx-container>",
        '<span class="math notranslate">\\(x^2\\)</span>',
        '<span class="arithmatex">$x^2$</span>',
        '<img class="tex" alt="x^2" src=x.png>',
        '<b data-tex="x^2"><i>x</i>2</b>',
    ],
)
def test_a_formula_is_its_tex_once(html):
    for page in (f"<p>See {html} here.", f"<table><tr><td>See {html} here.<td>b<tr><td>c<td>d</table>"):
        assert text(page).split("\n")[0] == "See $x^2$ here."
        assert "See $x^2$ here." in markdown(page)


def test_mathml_without_tex():
    parts = [
        "<mfrac><mi>a</mi><mrow><mi>b</mi><mo>+</mo><mn>1</mn></mrow></mfrac>",
        "<msqrt><mi>y</mi><mo>+</mo><mn>1</mn></msqrt><mroot><mi>z</mi><mn>3</mn></mroot>",
        "<munderover><mo>∑</mo><mrow><mi>i</mi><mo>=</mo><mn>0</mn></mrow><mi>n</mi></munderover>",
        "<mtable><mtr><mtd><mn>1</mn></mtd><mtd><mn>2</mn></mtd></mtr><mtr><mtd><mn>3</mn></mtd></mtr></mtable>",
    ]
    assert text(f"<math>{''.join(parts)}</math>") == (r"$\frac{a}{b+1}\sqrt{y+1}\sqrt[3]{z}∑_{i=0}^n1 & 2 \\ 3$")


def test_a_formula_of_a_page_is_no_markup_in_markdown():
    for tex in ("a&lt;script>b", "[x](javascript:y)", "`a`", "a$b", "|a|"):
        written = markdown(f"<table><tr><th><b data-tex='x^2 {tex}'>f</b><th>b<tr><td>c<td>d</table>")
        formula = written.removeprefix("| ").split(" | ")[0]
        assert formula[0] == formula[-1] == "$", written
        assert not any(sign in formula[1:-1].replace("\\$", "") for sign in ("<", ">", "](", "`", "$", "|")), written


def test_a_search_for_plain_characters_finds_them():
    found = analyzer("plain").analyze(normalized(text("H<sub>2</sub>O 10<sup>23</sup>"), "plain"))
    assert found == ["h2o", "1023"]


def test_any_nesting_is_read(fresh_rng: random.Random):
    """Whatever is nested in what, all texts agree, and every letter of the page is in them."""
    names = ["sup", "sub", "math", "span class=katex", "span class=math", "b data-tex=q", "i", "p", "pre", "a href=x"]
    for _ in range(300):
        tags = [fresh_rng.choice(names) for _ in range(fresh_rng.randrange(1, 12))]
        text(
            "".join(f"<{tag}>{fresh_rng.choice('x2 ')}" for tag in tags)
            + "</sup></math></span>y" * fresh_rng.randrange(3)
        )
