"""What a crawl shows, rendered as on a terminal of 80 and of 120 columns."""

from __future__ import annotations

import dataclasses
import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from rich.live import Live

from orienteer.cli import crawl_display, display
from orienteer.cli.crawl_display import CoverageBar, LineDisplay, PanelDisplay, panel, print_report, progress_line
from orienteer.crawl.goal import Ending, Goal
from orienteer.graph.proved import Certificate
from orienteer.inspect.figures import CrawlFigures
from orienteer.inspect.run_report import Report
from orienteer.pages.stop_reason import StopReason
from orienteer.wording import duration, plain, tally, time_left
from tests.tables import over_rows

FOLDER = Path("example.org-crawl")
FIGURES = CrawlFigures(
    epoch=0,
    position=13_113,
    n_done=13_023,
    n_fetched=12_345,
    n_failed=678,
    n_skipped=0,
    n_blocked=90,
    n_known=123_456,
    n_frontier=45_678,
    n_in_flight=32,
    n_hosts=123,
    n_hosts_backing_off=4,
    n_hosts_abandoned=1,
    n_bytes=1_234_567_890,
    pages_per_s=23.44,
    elapsed_s=723.4,
    eta_s=241.0,
    certificate=Certificate(0.91349, 0.97001, 0.006, 0.08, 0.0005),
    until=0.98,
    budget=None,
    outcomes={"ok": 12_000, "redirect": 345, "http 404": 512, "timed out": 33, "robots.txt": 20},
    visits={},
)


def changed(**values: Any) -> CrawlFigures:
    return dataclasses.replace(FIGURES, **values)


def rendered(renderable: Any, width: int = 80) -> list[str]:
    console = Console(width=width, file=io.StringIO(), record=True, highlight=False)
    console.print(renderable)
    return console.export_text().splitlines()


def one_line(lines: list[str]) -> str:
    """Without the frame and the line breaks."""
    return " ".join(" ".join(lines).replace("│", " ").split())


@pytest.mark.parametrize("width", [40, 80, 120])
def test_the_panel_shows_the_state_of_the_crawl(width: int) -> None:
    lines = rendered(panel(FOLDER, FIGURES), width)
    assert all(len(line) <= width for line in lines)
    text = one_line(lines)
    for printed in (
        "example.org-crawl",
        "at least 91.34 %, at most 97.01 %, goal 98 %",
        "up to 0.60 % is unreachable: on blocked pages, or behind them",
        "12,345 fetched, 678 failed, 90 blocked",
        "45,678 pages in the frontier; 123,456 URLs known",
        "23.4 pages/s, 32 in flight, 1.2 GB received",
        "123 known, 4 waiting after errors, 1 abandoned",
        "http 404 (512), timed out (33), robots.txt (20)",
        "12 min 03 s so far; left: 3–6 min",
        "Ctrl-C finishes the requests in flight; twice stops at once",
    ):
        assert printed in text


@pytest.mark.parametrize("width", [80, 120])
def test_the_panel_stays_small(width: int) -> None:
    kinds = {f"some kind of error {k}": k for k in range(100)}
    assert len(rendered(panel(FOLDER, changed(outcomes=kinds, budget=10_000)), width)) <= 20


def test_the_panel_says_what_else_may_be_the_goal() -> None:
    assert "13,023 of 20,000 pages" in one_line(rendered(panel(FOLDER, changed(until=None, budget=20_000))))
    text = one_line(rendered(panel(FOLDER, changed(until=None, eta_s=None, outcomes={"ok": 3}))))
    for printed in ("every reachable page", "left: not known yet", "errors none"):
        assert printed in text
    assert "goal 98" not in text


@pytest.mark.parametrize("width", [40, 80, 120])
def test_the_panel_says_that_the_goal_cannot_be_reached(width: int) -> None:
    proved = Certificate(0.9, 0.97, 0.03, 0.06, 0.0, 0.01)
    text = one_line(rendered(panel(FOLDER, changed(goal_is_impossible=True, budget=20_000, certificate=proved)), width))
    assert "at most 97.00 %, at least 93.75 % of what is reachable, goal 98 % of what is reachable" in text
    assert "goal 98 % of everything cannot be proved: too much is unreachable" in text
    assert "limit 13,023 of 20,000 pages" in text
    text = one_line(rendered(panel(FOLDER, changed(of_reachable=True, certificate=proved)), width))
    assert "at least 93.75 % of what is reachable, goal 98 % of what is reachable" in text
    assert "cannot be proved" not in text
    assert "at least 93.75 % of what is reachable, goal 98 % of what" in progress_line(
        FOLDER, changed(of_reachable=True, certificate=proved)
    )


def test_the_panel_says_that_it_was_asked_to_stop() -> None:
    assert "Stopping: 32 requests in flight; Ctrl-C again" in one_line(rendered(panel(FOLDER, FIGURES, 1)))
    assert "Stopping: 1 request in flight" in one_line(rendered(panel(FOLDER, changed(n_in_flight=1), 1)))
    assert "Stopping at once" in one_line(rendered(panel(FOLDER, FIGURES, 2)))


@over_rows(
    ("lower", "upper", "until", "expected"),
    [
        (0.0, 1.0, None, "▒▒▒▒▒▒▒▒▒▒"),
        (0.5, 0.8, None, "█████▒▒▒··"),
        (0.59, 0.71, None, "█████▒▒▒··"),  # down for what is proved, up for what is possible
        (0.5, 0.8, 0.9, "█████▒▒▒·┃"),
        (0.8999, 0.95, 0.9, "████████▒┃"),
        (0.999, 1.0, 0.9995, "█████████┃"),
        (0.95, 1.0, 0.5, "█████┃███▒"),
        (1.0, 1.0, None, "██████████"),
    ],
)
def test_the_bar_promises_no_more_than_is_proved(
    lower: float, upper: float, until: float | None, expected: str
) -> None:
    assert rendered(CoverageBar(Certificate(lower, upper), until), 10) == [expected]


def test_the_bar_without_unicode() -> None:
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    Console(file=out, width=10).print(CoverageBar(Certificate(0.5, 0.8), 0.9))
    out.seek(0)
    assert out.read() == "#####===.|\n"


def test_a_line_says_the_same_in_a_log() -> None:
    line = progress_line(FOLDER, FIGURES, 1)
    assert line == (
        "example.org-crawl: 12,345 fetched, 678 failed, 90 blocked; 45,678 pages waiting; 23.4 pages/s; "
        "coverage at least 91.34 %, at most 97.01 %, goal 98 %; running for 12 min 03 s; left: 3–6 min; stopping"
    )


class FakeClock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_lines_come_after_two_seconds_and_then_every_ten(capsys: pytest.CaptureFixture[str]) -> None:
    clock = FakeClock()
    show = LineDisplay(FOLDER, clock)
    for _ in range(35):
        clock.now += 1.0
        show(FIGURES)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 4


def test_a_milestone_is_worth_a_line_but_no_more_than_one_a_second(capsys: pytest.CaptureFixture[str]) -> None:
    clock = FakeClock()
    show = LineDisplay(FOLDER, clock)
    clock.now += 2.0
    for lower, n_lines in ((0.1, 1), (0.2, 0), (0.26, 1), (0.3, 0), (0.92, 1), (0.93, 0)):
        show(changed(certificate=Certificate(lower, 0.99)))
        assert capsys.readouterr().err.count("\n") == n_lines, lower
        clock.now += 1.1
    show(changed(certificate=Certificate(0.96, 0.99)))
    show(changed(certificate=Certificate(0.99, 0.99)))
    assert capsys.readouterr().err.count("\n") == 1


def test_a_line_that_cannot_be_written_does_not_end_the_crawl(monkeypatch: pytest.MonkeyPatch) -> None:
    class Gone(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    clock = FakeClock()
    show = LineDisplay(FOLDER, clock)
    clock.now += 10.0
    monkeypatch.setattr("sys.stderr", Gone())
    show(FIGURES)
    assert not show.is_due()


def test_the_panel_is_drawn_four_times_a_second_at_most() -> None:
    clock = FakeClock()
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=80)
    with Live(
        console=console, auto_refresh=False, transient=True, redirect_stdout=False, redirect_stderr=False
    ) as live:
        show = PanelDisplay(FOLDER, live, clock)
        assert show.is_due()
        for _ in range(16):
            show(FIGURES)
            clock.now += 1 / 16
        assert out.getvalue().count("12,345 fetched") == 4


def test_the_panel_leaves_room_for_what_the_terminal_echoes() -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, no_color=True, width=80)
    with Live(console=console, auto_refresh=False, redirect_stdout=False, redirect_stderr=False) as live:
        PanelDisplay(FOLDER, live)(FIGURES)
        frame = [line for line in out.getvalue().splitlines() if "╮" in line or "╯" in line]
    assert {line.count("─") for line in frame} <= {
        80 - len("^C^C") - 2,
        80 - len("^C^C") - 2 - len(" example.org-crawl "),
    }


def test_quiet_shows_nothing_and_a_pipe_gets_lines(capsys: pytest.CaptureFixture[str]) -> None:
    with crawl_display.progress_display(FOLDER, quiet=True) as show:
        assert not show.is_due()
        show(FIGURES)
    with crawl_display.progress_display(FOLDER, quiet=False) as show:
        assert isinstance(show, LineDisplay)
    assert capsys.readouterr() == ("", "")


def report(reason: str = "coverage", dead: float = 0.012, **values: Any) -> Report:
    figures, why = changed(**values), StopReason(reason)
    return Report(FOLDER, why, figures, dead)


def printed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, result: Report, width: int = 80
) -> str:
    monkeypatch.setattr(display, "console", lambda: Console(width=width, highlight=False))
    print_report(result)
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


@pytest.mark.parametrize("width", [80, 120])
def test_the_report(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    out = printed(capsys, monkeypatch, report(), width)
    assert all(len(line) <= width for line in out.splitlines())
    text = " ".join(out.split())
    for statement in (
        "goal reached: a coverage of 98 % is proved",
        "at least 91.34 %, at most 97.01 % of a surfer's time is on pages fetched; up to 0.60 % is unreachable",
        "12,345 fetched, 678 failed, 90 blocked; 45,678 left in the frontier",
        "errors in this run http 404 (512), timed out (33), robots.txt (20)",
        "1.2 % of a surfer's time would be at URLs without a page",
        "12,345 pages and redirects in 12 min 03 s, 17.1 a second; 1.2 GB received",
        "folder example.org-crawl",
        "orienteer crawl example.org-crawl --until 1 fetch the rest",
        "orienteer refresh example.org-crawl later: fetch changes",
        "orienteer index example.org-crawl make it searchable",
        'orienteer search example.org-crawl "some words" find pages',
        "orienteer serve example.org-crawl see it in the browser",
        "orienteer status example.org-crawl",
        "orienteer explain example.org-crawl URL",
    ):
        assert statement in text


def test_redirects_and_files_that_are_skipped_are_no_failures() -> None:
    figures = changed(n_redirects=345, n_skipped=1, outcomes={"ok": 3, "unwanted type": 1})
    text = one_line(rendered(panel(FOLDER, figures), 120))
    assert "12,345 fetched, 345 redirects, 1 skipped, 678 failed, 90 blocked" in text
    assert "errors none" in text


def test_next_steps_are_left_out_where_nobody_wants_them(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(display, "console", lambda: Console(width=120, highlight=False))
    print_report(report(), quiet=True)
    assert "orienteer" not in capsys.readouterr().out
    print_report(report(), with_index=True)
    out = capsys.readouterr().out
    assert "orienteer index" not in out
    assert "orienteer search" in out


def test_after_an_interruption_search_is_named_behind_what_makes_the_index(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A crawl with --index that was interrupted has made none."""
    monkeypatch.setattr(display, "console", lambda: Console(width=120, highlight=False))
    print_report(report("interrupted"), with_index=True)
    tips = [line.split("   ")[0].rstrip() for line in capsys.readouterr().out.splitlines() if line.startswith("orient")]
    assert tips[:2] == ["orienteer crawl example.org-crawl --index", "orienteer index example.org-crawl"]
    assert tips[2].startswith("orienteer search")


def test_the_report_names_lost_seeds_and_abandoned_pages(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lost = {f"http://{k}.test/": f"no address found for {k}.test: is the name right?" for k in range(5)}
    result = dataclasses.replace(report("frontier empty", until=None), failed_seeds=lost, n_abandoned=7)
    text = " ".join(printed(capsys, monkeypatch, result, 200).split())
    assert "covered; 7 pages were abandoned because their hosts could not be reached" in text
    assert "failed seeds no address found for 0.test: is the name right?; no address" in text
    assert "and 2 more seeds" in text
    assert "orienteer refresh example.org-crawl retry the unreachable pages" in text


def test_a_report_without_its_goal_says_how_to_go_on(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = printed(capsys, monkeypatch, report("interrupted", 0.0, outcomes={}))
    assert "stopped by you. Resume any time" in out
    assert "orienteer crawl example.org-crawl " in out
    assert "errors in this run" not in out
    assert "without a page" not in out
    out = " ".join(printed(capsys, monkeypatch, report("budget", budget=13_023)).split())
    assert "stopped at your limit of 13,023 pages before a coverage of 98 % was proved; at least 91.34 %" in out
    assert "orienteer crawl example.org-crawl --budget 26046" in out


REACHABLE = "a coverage of 98 % of what is reachable is proved, but 98 % of everything cannot be proved"
LESS = "; at least 91.34 % covered"


@over_rows(
    ("reason", "until", "budget", "expected", "colour", "is_success"),
    [
        ("coverage", 0.98, None, "goal reached: a coverage of 98 % is proved", "green", True),
        ("coverage", 0.9995, 5, "goal reached: a coverage of 99.95 % is proved", "green", True),
        ("measured coverage", 0.98, 5, "goal reached: a coverage of 98 % is measured", "green", True),
        ("reachable", 0.98, None, f"goal not reached: {REACHABLE}", "yellow", False),
        ("budget", None, 1, f"stopped at your limit of 1 page{LESS}", "cyan", True),
        (
            "budget", 0.57, 2000,
            f"stopped at your limit of 2,000 pages before a coverage of 57 % was proved{LESS}", "yellow", False,
        ),
        ("frontier empty", None, None, f"everything reachable is fetched{LESS}", "green", True),
        ("frontier empty", None, 40, f"everything reachable is fetched{LESS}", "green", True),
        (
            "frontier empty", 0.98, 40,
            "goal not reached: nothing is left to fetch, but 98 % is not proved", "yellow", False,
        ),
        ("interrupted", None, None, "stopped by you. Resume any time", "yellow", False),
        ("interrupted", 0.98, 40, "stopped by you. Resume any time", "yellow", False),
        ("login failed", None, 40, "paused: it is not logged in any more", "yellow", False),
    ],
)  # fmt: skip
def test_what_was_asked_and_how_it_ended_decide_the_headline(
    reason: str, until: float | None, budget: int | None, expected: str, colour: str, is_success: bool
) -> None:
    result = report(reason, until=until, budget=budget)
    assert (result.headline, result.ending.colour, result.ending.is_success) == (expected, colour, is_success)
    assert result.as_dict()["headline"] == expected
    assert not (result.goal_reached and reason == "budget"), "a limit is not a goal"


def test_everything_is_not_fetched_where_hosts_were_lost() -> None:
    goal = Goal(budget=400)
    assert goal.ending(StopReason.FRONTIER_EMPTY, 100, n_abandoned=1) is Ending.EVERYTHING
    assert goal.ending(StopReason.FRONTIER_EMPTY, 100, n_abandoned=2) is Ending.MISSED
    assert goal.ending(StopReason.FRONTIER_EMPTY, has_pages=False) is Ending.MISSED


def test_markup_and_control_characters_are_only_text(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    hostile = "[red]x[/red] [link=http://evil.test]y[/] \x1b[2J\x9b1m\u202e\r\n"
    figures = changed(outcomes={hostile: 7})
    result = Report(Path("[bold]f[/bold]\x1b[31m"), StopReason.FRONTIER_EMPTY, figures, problem=hostile)
    text = printed(capsys, monkeypatch, result, 120) + "\n".join(rendered(panel(result.folder, figures), 120))
    assert "[red]x[/red] [link=http://evil.test]y[/]" in text
    assert "[bold]f[/bold]" in text
    for sign in "\x1b\x9b\u202e\r":
        assert sign not in text
    assert "\x1b" not in progress_line(result.folder, figures)


@over_rows(
    ("seconds", "expected"),
    [(0, "0 s"), (59.9, "59 s"), (60, "1 min 00 s"), (3725, "1 h 02 min"), (86_400 * 3 + 7200, "3 d 2 h")],
)
def test_durations(seconds: float, expected: str) -> None:
    assert duration(seconds) == expected


@over_rows(
    ("seconds", "expected"),
    [
        (None, "not known yet"),
        (float("inf"), "not known yet"),
        (float("nan"), "not known yet"),
        (1e12, "not known yet"),
        (0.0, "less than 15 s"),
        (45, "30–70 s"),
        (89, "1–2 min"),
        (241, "3–6 min"),
        (2_000, "20–50 min"),
        (3600 * 5, "4–7 h"),
        (86_400 * 4.2, "3–6 days"),
    ],
)
def test_time_left(seconds: float | None, expected: str) -> None:
    assert time_left(seconds) == expected


def test_tally_names_the_largest() -> None:
    assert tally({}, 3) == ""
    assert tally({"a": 1, "b": 3000, "c": 2}, 3) == "b (3,000), c (2), a (1)"
    assert tally({"a": 1, "b": 3, "c": 2}, 2) == "b (3), c (2) and 1 other kind"


def test_plain_text_keeps_what_people_write() -> None:
    assert plain("  Füße \n und\tHände – 日本語 👩‍🚀 ") == "Füße und Hände – 日本語 👩‍🚀"
    assert plain("\ud800x\x00y\x7f") == "\ufffdx\ufffdy\ufffd"
    assert plain("a" * 50, 10) == "a" * 9 + "…"
