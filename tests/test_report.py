"""The page of a run and of scores: holds what the files say, escapes it, and works in a browser."""

import re
from dataclasses import asdict
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from tests.browser import Browser, needs_chromium
from tests.videos import ball_videos
from vision_pwil.demonstrations import Demonstrations, Episode
from vision_pwil.encoder import Encoder
from vision_pwil.system import page
from vision_pwil.system.board import gif
from vision_pwil.system.errors import InputError
from vision_pwil.system.files import write_json
from vision_pwil.system.run import write_curve
from vision_pwil.tasks import scorecard
from vision_pwil.tasks.report import write_report
from vision_pwil.verdict.audit import AuditReport, BehaviourScore

EVIL = '"><script>document.title = "taken over"</script><img src=x onerror=alert(1)>'


class Tags(HTMLParser):
    """Names of the elements of a page, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.text = ""
        self.attributes: list[tuple[str, str | None]] = []
        self.feed(text)

    def handle_starttag(self, tag, attributes) -> None:
        self.names.append(tag)
        self.attributes += attributes

    def handle_data(self, data) -> None:
        self.text += data


@pytest.fixture(scope="module")
def demonstrations() -> Demonstrations:
    return Demonstrations(
        tuple(Episode(frames=video, name=f"{n}") for n, video in enumerate(ball_videos(5))), rate=20.0
    )


@pytest.fixture(scope="module")
def scores(demonstrations: Demonstrations, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("scores")
    video = Episode(frames=demonstrations.episodes[0].frames[:20], name=EVIL)
    card = scorecard.compare(Encoder(), demonstrations, [Demonstrations((video,), rate=10.0)])
    scorecard.write(card, folder)
    scorecard.write_films(card, folder, {})
    write_report(folder)
    return folder


@pytest.fixture
def run(tmp_path: Path, demonstrations: Demonstrations) -> Path:
    folder = tmp_path / "run"
    write_json(folder / "config.json", {"env": EVIL, "agent": "sac", "training": {"seed": 3, "steps": 20_000}})
    write_curve(
        folder, [{"step": 1000 * n, "return": 100.0 * n, "w1": 3.0 / (n + 1), "greedy_w1": 4.0} for n in range(20)]
    )
    judged = [
        BehaviourScore("held-out demonstrations", 2400.0, 0.5, 0, 1.0, True),
        BehaviourScore("doing nothing", 20.0, 4.0, -1, 1.0, False),
    ]
    write_json(folder / "audit.json", asdict(AuditReport(judged, 120.0, 1.1, None, 0.95, 0.7, "ranks well")))
    (folder / "videos").mkdir()
    (folder / "videos" / "000019000.gif").write_bytes(gif(ball_videos(1, seed=4)[0]))
    return folder


def test_ticks_are_round_numbers_inside() -> None:
    assert page.ticks(0, 1) == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1])
    assert page.ticks(-30, 270) == pytest.approx([0, 50, 100, 150, 200, 250])
    for low, high in np.random.default_rng(0).normal(size=(200, 2)) * 10.0 ** np.arange(-100, 100)[:, None] / 1e3:
        low, high = min(low, high), max(low, high)
        found = page.ticks(low, high)
        assert (
            2 <= len(found) <= 9
            and low <= min(found) + (high - low) * 1e-6
            and max(found) <= high + (high - low) * 1e-6
        )
    assert [page.short(value) for value in (20_000, 1_500_000, 0.2, -3)] == ["20k", "1.5M", "0.2", "-3"]


def test_a_chart_puts_points_where_they_belong() -> None:
    drawn = page.chart({"line": [(0, 0), (5, 1), (float("nan"), 3), (10, 0.5)]}, "x", levels={"level": 2.0})
    (points,) = re.findall(r'points="([^"]+)"', drawn)
    (x0, y0), (x1, y1), (x2, y2) = (map(float, point.split(",")) for point in points.split())
    assert x1 - x0 == pytest.approx(x2 - x1) and x0 < x1
    assert y0 - y1 == pytest.approx(2 * (y0 - y2), abs=0.2) and y1 < y2 < y0  # SVG counts from the top
    (level,) = re.findall(r'class="level" [^>]*y1="([\d.]+)"', drawn)
    assert float(level) == pytest.approx(y0 - 2 * (y0 - y1), abs=0.2)


def test_a_run_shows_its_curves_audit_settings_and_films(run: Path, demonstrations: Demonstrations) -> None:
    tags = Tags(write_report(run, demonstrations).read_text())
    assert tags.names.count("svg") == 2  # return, and W1 with its bound
    assert tags.names.count("video") == 2  # the agent and a demonstration
    for words in ("ranks behaviour well", "held-out demonstrations", "training.seed", "19000 steps", "vision-pwil"):
        assert words in tags.text
    levels = re.findall(r'class="level"', (run / "report.html").read_text())
    assert len(levels) == 2
    assert Tags(write_report(run).read_text()).names.count("video") == 1


def test_scores_show_every_video_with_its_curve(scores: Path) -> None:
    tags = Tags((scores / "report.html").read_text())
    held_out = 2
    assert tags.names.count("video") == tags.names.count("svg") == held_out + 1
    assert ("data-frames", "20") in tags.attributes and ("data-rate", "10") in tags.attributes


def test_nothing_from_a_folder_becomes_markup(run: Path, scores: Path) -> None:
    for text in (write_report(run).read_text(), (scores / "report.html").read_text()):
        tags = Tags(text)
        assert tags.names.count("script") == 1 and "img" not in tags.names
        assert not [name for name, _ in tags.attributes if name.startswith("on")]
        assert EVIL in tags.text  # shown as it is
        loaded = [value for name, value in tags.attributes if name in ("src", "href")]
        assert all(value.startswith("data:") for value in loaded)


def test_films_that_are_none_stay_out(run: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(b"0000ftyp not of this run")
    (run / "policy.mp4").symlink_to(secret)
    (run / "videos" / "000020000.gif").write_bytes(b"no picture")
    assert "<video" not in write_report(run).read_text()


def test_damage_and_other_folders_are_told_apart(run: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="neither the directory of a run nor of scores"):
        write_report(tmp_path)
    write_json(run / "audit.json", {"scores": [{"group": "a"}]})
    with pytest.raises(InputError, match=r"audit\.json is not a readable audit"):
        write_report(run)
    write_json(run / "scores.json", {"videos": [{"video": 1}]})
    with pytest.raises(InputError, match=r"scores\.json is not a readable file of scores"):
        write_report(run)


@needs_chromium
def test_the_pages_work_in_a_browser(scores: Path, run: Path, demonstrations: Demonstrations, tmp_path: Path) -> None:
    browser = Browser(tmp_path / "profile")
    try:
        browser.open(scores / "report.html")
        browser.wait("[...document.querySelectorAll('video')].every(v => v.readyState >= 2)")
        cursor, video = "document.querySelector('.cursor').x1.baseVal.value", "document.querySelector('video')"
        assert browser.run(cursor) == 56
        browser.run(f"{video}.play()")
        browser.wait(f"{video}.currentTime > 0.1 && {cursor} > 60")
        browser.run(f"{video}.pause()")
        # A finger half-way along the chart shows the middle frame.
        box = browser.run("(b => [b.x, b.y, b.width, b.height])(document.querySelector('svg').getBoundingClientRect())")
        x, y = box[0] + box[2] * (56 + 628) / 2 / 640, box[1] + box[3] / 2
        browser.send("Input.dispatchMouseEvent", type="mousePressed", x=x, y=y, button="left", buttons=1, clickCount=1)
        browser.send("Input.dispatchMouseEvent", type="mouseReleased", x=x, y=y, button="left", clickCount=1)
        half = browser.run("(d => (d.frames - 1) / d.rate / 2)(document.querySelector('svg').dataset)")
        browser.wait(f"Math.abs({video}.currentTime - {half}) < 0.02 && Math.abs({cursor} - 342) < 2")
        assert browser.run("document.title").startswith("Scores in")  # no script from a file name has run

        write_report(run, demonstrations)
        for width, dark in ((1100, True), (390, False)):
            browser.open(run / "report.html", width, dark=dark)
            browser.wait("[...document.querySelectorAll('video')].every(v => v.readyState >= 2)")
            assert browser.run("document.documentElement.scrollWidth") <= width
            ground = browser.run("getComputedStyle(document.body).backgroundColor")
            assert ground == ("rgb(13, 17, 23)" if dark else "rgb(255, 255, 255)")
        agent, shown = "document.querySelectorAll('video')[0]", "document.querySelectorAll('video')[1]"
        browser.run(f"{agent}.play()")
        browser.wait(f"{shown}.currentTime > 0.1")
        browser.run(f"{agent}.pause()")
        browser.wait(f"{shown}.paused && Math.abs({agent}.currentTime - {shown}.currentTime) < 0.02")
        assert browser.errors == []
        assert not [url for url in browser.requests if not url.startswith(("file:", "data:", "about:"))]
    finally:
        browser.close()
