"""The words and places of the live page: what is seen first, and that it is the report below."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from serving import given

from spagree.monitor import pages as page
from spagree.monitor.alerts import Alert
from spagree.monitor.figures import Settings
from spagree.monitor.hub import Hub, Reconciled
from spagree.monitor.store import Store
from spagree.present.charts.agreement import trend

QUESTION = ("p", "q")
VOID = {"meta", "input", "link", "br", "img", "rect", "path"}


class Structure(HTMLParser):
    """Tags that close in order, ids that occur once, and the text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.words: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.ids += [given["id"]] if given.get("id") else []  # type: ignore[list-item]
        self.links += [given["href"]] if given.get("href") else []  # type: ignore[list-item]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.words))


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    found = Hub(Store(str(tmp_path_factory.mktemp("page") / "s.sqlite")), Settings(target=0.95))
    chance = np.random.default_rng(0)
    events = [
        given(f"i{i}", who, "yes" if chance.random() < 0.6 else "no", time=1.7e9 + 60 * i)
        for i in range(150)
        for who in ("ann", "bob", "cyd")
    ]
    found.take_now(events)
    found.mark("p", "second guidelines", 1.7e9 + 60)
    found.expected["p"] = 200
    found.reconciled["file labels.csv"] = Reconciled(0.0, 3, 5)
    found.live(QUESTION, now=True)
    yield found
    found.close()


def rendered(hub: Hub) -> tuple[str, str]:
    return page.render(hub, hub.live(QUESTION), {"annotator": "", "hours": 0, "address": "http://127.0.0.1:1"})


def test_the_page_is_whole_html_whose_links_lead_somewhere(hub: Hub) -> None:
    found = Structure(rendered(hub)[0])
    assert found.open == [] and len(set(found.ids)) == len(found.ids)
    assert {"live", "main", "mark-form"} <= set(found.ids)
    inner = {link[1:] for link in found.links if link.startswith("#")}
    assert inner <= set(found.ids) and any(link.startswith("/report?project=p") for link in found.links)
    assert not [link for link in found.links if link.startswith(("http:", "https:", "//"))]


def test_what_is_seen_first_says_whether_to_step_in(hub: Hub) -> None:
    text = Structure(rendered(hub)[0]).text
    assert "One thing needs a look: Agreement is below the target." in text
    assert "What to do:" in text and "target 0.95" in text and "Safe bounds" in text
    assert "50 with none" in text and "3 differences corrected" in text and "since the last mark" in text


def test_the_policy_allows_the_scripts_of_the_page_and_nothing_else(hub: Hub) -> None:
    html, policy = rendered(hub)
    scripts = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    assert len(scripts) == 3 and policy.count("'sha256-") == 4
    assert "unsafe" not in policy and "connect-src 'self'" in policy and "form-action 'self'" in policy
    html, policy = page.login()
    assert "<script" not in html and "script-src 'none'" in policy and "form-action 'self'" in policy


def test_charts_and_their_places_belong_together(hub: Hub) -> None:
    found = page.changing(hub, hub.live(QUESTION))
    places = {name for html in found["sections"].values() for name in re.findall(r'data-chart="([^"]+)"', html)}
    assert places == set(found["specs"]) and "trend" in places
    assert json.dumps(found, allow_nan=False)


def test_the_report_of_the_phase_counts_from_the_last_mark_on(hub: Hub) -> None:
    live = hub.live(QUESTION)
    html, policy = page.report(live)
    assert live.agreement is not None and live.agreement.data.items == live.safe.items < 150
    assert f"{live.agreement.data.annotations:,} annotations of {live.safe.items:,} items" in html
    assert "below the target of 0.95" in html and policy.endswith("frame-ancestors 'none'")
    assert {step.phase for step in live.trend} == {0, 1}


def test_an_empty_store_and_a_project_without_pairs_say_so(tmp_path: Path) -> None:
    hub = Hub(Store(str(tmp_path / "s.sqlite")))
    html, _ = page.render(hub, None, {"address": "http://127.0.0.1:8765"})
    assert "curl -X POST http://127.0.0.1:8765/api/v1/annotations" in html
    hub.take_now([given(str(i), "ann", "yes") for i in range(5)])
    live = hub.live(QUESTION, now=True)
    found = page.changing(hub, live)
    text = Structure(found["sections"]["live"]).text
    assert "Too early to tell" in text and "The chart needs two closed items." in text
    assert "trend" not in found["specs"]
    hub.close()


def alert(title: str) -> Alert:
    return Alert("p", "q", "below_target", title, "words", "do")


def test_the_verdict_names_one_alert_and_counts_several(hub: Hub) -> None:
    live = hub.live(QUESTION)
    assert page.verdict(live, [alert("Ann is apart")])[1] == "One thing needs a look: Ann is apart."
    assert page.verdict(live, [alert("a"), alert("b")])[1] == "2 things need a look: a · b"
    assert page.verdict(live, [alert(each) for each in "abcde"])[1] == "5 things need a look: a · b · c · d · …"


def rows(count: int, low: float = 0.7, high: float = 0.9) -> list[dict[str, object]]:
    figures = {"value": 0.8, "low": low, "high": high, "recent": 0.8, "when": "now", "shown": "0.8", "latest": "0.8"}
    return [{**figures, "time": 1e12 + i, "items": i, "bounds": f"{low} to {high}"} for i in range(count)]


@pytest.mark.parametrize(("target", "marks", "layers"), [(None, 0, 4), (0.7, 0, 5), (None, 2, 6), (0.7, 1, 7)])
def test_the_trend_shows_target_and_marks_and_its_scale_holds_what_is_drawn(
    target: float | None, marks: int, layers: int
) -> None:
    noted = [{"time": 1e12 + i, "text": "<b>new</b>"} for i in range(marks)]
    spec = trend(rows(5), noted, target)
    assert len(spec["layer"]) == layers
    low, high = spec["layer"][0]["encoding"]["y"]["scale"]["domain"]
    assert 0 <= low <= 0.7 and 0.9 <= high <= 1
    assert trend(rows(3, 0.0, 1.0), [], None)["layer"][0]["encoding"]["y"]["scale"]["domain"] == [0.0, 1.0]
