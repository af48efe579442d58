"""Figures in one style, and small image files of them. Matplotlib is imported when a figure is wanted."""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from orienteer.errors import MissingExtraError
from orienteer.evaluate.report import COLOURS, MARKERS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_N_COLOURS = 128  # of an image file: enough for lines and letters, at a third of the size


def check_drawing() -> None:
    """Raise an error before the work if matplotlib is missing."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise MissingExtraError("an experiment", "matplotlib", "plots") from None


def panels(n_panels: int, width: float = 4.6, height: float = 3.9) -> tuple[Figure, list[Axes]]:
    """A figure of some plots side by side, up to three in a row."""
    from matplotlib.figure import Figure

    columns = min(n_panels, 3)
    rows = -(-n_panels // columns)
    figure = Figure(figsize=(max(columns * width, 7.0), rows * height), dpi=110, layout="constrained")
    axes = [figure.add_subplot(rows, columns, k + 1) for k in range(n_panels)]
    for one in axes:
        one.grid(which="major", color="#e4e4e4", linewidth=0.8)
        one.set_axisbelow(True)
        one.spines[["top", "right"]].set_visible(False)
    return figure, axes


def titled(axes: Axes, title: str, across: str, up: str) -> None:
    axes.set_title(title, loc="left", fontsize=10.5, fontweight="bold")
    axes.set_xlabel(across)
    axes.set_ylabel(up)


def counts_across(axes: Axes) -> None:
    """The axis across counts pages."""
    if axes.get_xscale() == "linear":
        axes.locator_params(axis="x", nbins=6)
    axes.xaxis.set_major_formatter(lambda count, _: short_count(count))


def short_count(count: float) -> str:
    """`250`, `1.5 k`, `20 M`.

    >>> [short_count(count) for count in (250, 1500, 20_000_000)]
    ['250', '1.5 k', '20 M']
    """
    for unit, name in ((1e6, " M"), (1e3, " k")):
        if count >= unit:
            return f"{count / unit:g}{name}"
    return f"{count:g}"


def line(axes: Axes, curve: Iterable[Any], label: str, place: int, **style: Any) -> None:
    """Draw one of several curves in the colour and with the marker of its place among them."""
    across, up = curve
    drawn: dict[str, Any] = {
        "color": COLOURS[place % len(COLOURS)],
        "marker": MARKERS[place % len(MARKERS)],
        "markersize": 4.5,
        "markevery": (0.03 + 0.02 * place, 0.14),
        "linewidth": 1.6,
    }
    axes.plot(across, up, label=label, **(drawn | style))


def legend(axes: Axes, **place: Any) -> None:
    axes.legend(frameon=False, fontsize=8.5, **place)


def png(figure: Figure) -> bytes:
    """The figure as a small PNG file: lines and letters need few colours."""
    from PIL import Image

    drawn = io.BytesIO()
    figure.savefig(drawn, format="png", metadata={"Software": None})
    with Image.open(drawn) as image:
        flat = image.convert("RGB").quantize(_N_COLOURS, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    small = io.BytesIO()
    flat.save(small, format="PNG", optimize=True)
    return small.getvalue()
