"""The routes: annotations in, figures out; each is a few lines, and every refusal says why."""

from __future__ import annotations

import asyncio
import io
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlencode

from prometheus_client import generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from sse_starlette.sse import EventSourceResponse
from standardwebhooks import Webhook
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from spagree.errors import DataError, SpagreeError
from spagree.monitor import hooks, pages
from spagree.monitor.alerts import notice
from spagree.monitor.figures import Live
from spagree.monitor.hub import Hub, Question
from spagree.monitor.ledger import UNFIT
from spagree.monitor.security import Refusal, body_of, form_of, page_answer
from spagree.monitor.store import BusyError, StoreError
from spagree.present.report.page import own_file

SEE = "see /api/v1/projects"
NOTHING_HERE = f"no annotations of this project and question; {SEE}"
LABEL_STUDIO, POTATO = "/hooks/label-studio", "/hooks/potato"
READERS: Any = {"/api/v1/annotations": hooks.posted, LABEL_STUDIO: hooks.label_studio, POTATO: hooks.potato}
LONGEST_MARK = 200
HOUR = 3600.0
METRICS = {
    "spa": "Sparse Probability of Agreement of all annotations, or agreement on whole spans",
    "safe_low": "Lower safe bound",
    "safe_high": "Upper safe bound",
    "annotations": "Annotations that count",
    "open_alerts": "Open alerts",
}


def application(hub: Hub, potato_secret: str | None = None) -> Starlette:
    """The routes as an ASGI application, which its guard stands before."""
    routes = Routes(hub, potato_secret)

    @asynccontextmanager
    async def life(_app: Starlette) -> AsyncIterator[None]:
        yield
        routes.stopping.set()
        await asyncio.to_thread(hub.close)

    return Starlette(
        routes=[
            Route("/", routes.show),
            Route("/changing", routes.changing),
            Route("/report", routes.report),
            Route("/events", routes.events),
            Route("/marks", routes.marks, methods=["POST"]),
            *(Route(path, routes.take, methods=["POST"]) for path in READERS),
            Route("/api/v1/agreement", routes.agreement),
            Route("/api/v1/projects", routes.projects),
            Route("/api/v1/alerts", routes.alerts),
            Route("/api/v1/marks", routes.marks, methods=["GET", "POST"]),
            Route("/api/v1/export", routes.export),
            Route("/api/v1/openapi.json", routes.openapi),
            Route("/metrics", routes.metrics),
            Route("/healthz", routes.health),
        ],
        exception_handlers=dict.fromkeys((Refusal, HTTPException, BusyError, SpagreeError, Exception), _answer),
        lifespan=life,
    )


WORDS = {404: "there is nothing here; see /api/v1/openapi.json", 405: "this address takes a different method"}


async def _answer(_request: Request, error: Exception) -> Response:
    """Every refusal says why; what is no refusal of ours is logged and told to nobody."""
    if isinstance(error, HTTPException):  # Starlette's own
        words = WORDS.get(error.status_code, error.detail)
        error = Refusal(error.status_code, words, **(error.headers or {}))
    elif isinstance(error, BusyError | StoreError):
        error = Refusal(503, str(error), **{"Retry-After": "5"})
    elif isinstance(error, SpagreeError):
        error = Refusal(422, str(error))
    elif not isinstance(error, Refusal):
        error = Refusal(500, "internal error; it was logged, please report it")
    return error.answer


class Routes:
    """One method for each address."""

    def __init__(self, hub: Hub, potato_secret: str | None) -> None:
        self.hub = hub
        self.stopping = asyncio.Event()
        self._potato = Webhook(potato_secret.encode()) if potato_secret else None
        self._rendering = asyncio.Lock()

    async def take(self, request: Request) -> Response:
        """POST annotations, one or many, or what a tool's webhook sends: acknowledged once they are durable."""
        path, body = request.scope["path"], await body_of(request)
        if path == POTATO and self._potato is not None:
            try:
                self._potato.verify(body, dict(request.headers), json_parse=False)
            except Exception:  # the library raises many kinds of errors
                raise Refusal(401, "the signature is missing, wrong or too old; check the webhook's secret") from None
        given: Any = hooks.decoded(body) if path == LABEL_STUDIO else body
        events = READERS[path](given)
        if path == LABEL_STUDIO:
            self.hub.expected |= hooks.expected_items(given.get("project"))
        await self.hub.take(events)
        return JSONResponse({"accepted": len(events)})

    def _question(self, request: Request) -> Question:
        """The requested question; a single one need not be named."""
        wanted = [request.query_params.get(name) for name in ("project", "question")]
        matching = [
            question
            for question in self.hub.questions()
            if all(not name or name == own for name, own in zip(wanted, question, strict=True))
        ]
        if not matching:
            raise Refusal(404, NOTHING_HERE)
        if len(matching) > 1:
            raise DataError(f"{len(matching)} questions match; name one with project= and question=, {SEE}")
        return matching[0]

    def _query(self, request: Request) -> dict[str, Any]:
        hours = request.query_params.get("hours", "")
        return {
            "annotator": request.query_params.get("annotator", ""),
            "hours": int(hours) if hours.isdecimal() and len(hours) < 6 else 0,  # noqa: PLR2004 (eleven years)
            "address": str(request.base_url).rstrip("/"),
        }

    async def _shown(self, request: Request) -> Live:
        """The figures of the requested question, or of a part of it."""
        question, query = self._question(request), self._query(request)
        if not query["annotator"] and not query["hours"]:
            return await asyncio.to_thread(self.hub.live, question)
        since = time.time() - query["hours"] * HOUR if query["hours"] else 0.0
        return await asyncio.to_thread(self.hub.part, question, query["annotator"], since)

    async def agreement(self, request: Request) -> Response:
        """GET /api/v1/agreement: the JSON of `spagree score --json`, and the monitored figures."""
        live = await asyncio.to_thread(self.hub.live, self._question(request), now=True)
        if live.agreement is None:
            raise Refusal(404, NOTHING_HERE)
        one, two, more = live.coverage
        watching = {
            "project": live.project,
            "question": live.question,
            "safe": {name: value for name, value in live.safe._asdict().items() if name != "undefined" or value},
            "target": live.settings.target,
            "coverage": {"one": one, "two": two, "three_or_more": more},
            "annotations_per_hour": live.per_hour,
            "superseded": live.columns.superseded,
            "notice": notice(live),
            "alerts": [each.document() for each in self.hub.register.of_question(live.project, live.question)[0]],
        }
        return JSONResponse({**live.agreement.to_dict(), "live": watching})

    async def projects(self, _request: Request) -> Response:
        """GET /api/v1/projects."""
        return JSONResponse({"questions": await asyncio.to_thread(self.hub.overview)})

    async def alerts(self, _request: Request) -> Response:
        """GET /api/v1/alerts."""
        register = self.hub.register
        return JSONResponse({"alerts": [alert.document() for alert in (*register.open.values(), *register.past[::-1])]})

    async def marks(self, request: Request) -> Response:
        """GET and POST /api/v1/marks, and POST /marks, the form of the page: when the guidelines changed."""
        is_form = request.scope["path"] == "/marks"
        if request.method == "POST":
            given = await form_of(request) if is_form else hooks.decoded(await body_of(request))
            record: dict[str, Any] = given if isinstance(given, dict) else {}
            project, text = record.get("project"), record.get("text")
            at = None if is_form else hooks.moment(record.get("time"), "time")
            if not isinstance(project, str) or project not in {name for name, _ in self.hub.questions()}:
                raise DataError(f"project is missing or unknown; {SEE}")
            if not isinstance(text, str) or not text.strip() or len(text) > LONGEST_MARK or UNFIT.search(text):
                raise DataError(f"text must say what changed, in 1 to {LONGEST_MARK} characters that can be stored")
            await asyncio.to_thread(self.hub.mark, project, text.strip(), at)
            if is_form:
                shown = {"project": project, "question": record.get("question", "")}
                return RedirectResponse(f"/?{urlencode(shown)}", 303)
        marks = self.hub.marks.items()
        return JSONResponse({"marks": {of: [{"time": at, "text": text} for at, text in each] for of, each in marks}})

    async def export(self, request: Request) -> Response:
        """GET /api/v1/export?format=csv|parquet: every annotation that counts."""
        question, kind = self._question(request), request.query_params.get("format", "csv")
        if kind not in ("csv", "parquet"):
            raise DataError("format must be csv or parquet")
        columns = self.hub.ledger.columns(*question)
        frame, content = await asyncio.to_thread(columns.marks if columns.places else columns.frame), io.BytesIO()
        await asyncio.to_thread(frame.write_csv if kind == "csv" else frame.write_parquet, content)
        media = "text/csv; charset=utf-8" if kind == "csv" else "application/vnd.apache.parquet"
        headers = {"Content-Disposition": f"attachment; filename=annotations.{kind}"}
        return Response(content.getvalue(), media_type=media, headers=headers)

    async def show(self, request: Request) -> Response:
        """GET /: the live page of a question, or the overview."""
        is_named = any(request.query_params.get(name) for name in ("project", "question"))
        async with self._rendering:
            live = await self._shown(request) if is_named or len(self.hub.questions()) == 1 else None
            return page_answer(*await asyncio.to_thread(pages.render, self.hub, live, self._query(request)))

    async def changing(self, request: Request) -> Response:
        """GET /changing: the current sections and charts."""
        async with self._rendering:
            content = await asyncio.to_thread(pages.changing, self.hub, await self._shown(request))
        return Response(json.dumps(content, ensure_ascii=False, allow_nan=False), media_type="application/json")

    async def report(self, request: Request) -> Response:
        """GET /report: the report of a question, counted from the last mark on."""
        async with self._rendering:
            live = await asyncio.to_thread(self.hub.live, self._question(request), now=True)
            return page_answer(*await asyncio.to_thread(pages.report, live))

    async def events(self, _request: Request) -> Response:
        """GET /events: which questions changed."""

        async def changed() -> AsyncIterator[dict[str, str]]:
            with self.hub.listening() as queue:
                yield {"event": "hello", "data": "{}"}
                while not self.stopping.is_set():
                    project, question = await queue.get()
                    yield {"event": "changed", "data": json.dumps({"project": project, "question": question})}

        return EventSourceResponse(changed(), ping=15)

    async def metrics(self, _request: Request) -> Response:
        """GET /metrics for Prometheus."""
        metrics: Any = SimpleNamespace(collect=partial(_metrics, self.hub))
        content = await asyncio.to_thread(generate_latest, metrics)
        return Response(content, media_type="text/plain; version=0.0.4; charset=utf-8")

    async def health(self, request: Request) -> Response:
        """GET /healthz: whether annotations are stored; why not, and the last faults, only for who has the token."""
        trouble = self.hub.trouble()
        document: dict[str, Any] = {"status": "failing" if trouble else "ok"}
        if request.scope["is_known"]:
            document["sources"] = {name: {"fault": each.words, "time": each.at, "is_over": each.is_over}
                                   for name, each in self.hub.faults.items()}  # fmt: skip
            document |= {"error": trouble} if trouble else {}
        return JSONResponse(document, 503 if trouble else 200)

    async def openapi(self, _request: Request) -> Response:
        """GET /api/v1/openapi.json."""
        return Response(own_file("openapi.json", pages.WEB), media_type="application/json")


def _metrics(hub: Hub) -> list[GaugeMetricFamily | CounterMetricFamily]:
    """Gauges for each question and source, and counters of events and drift, as of now."""
    names = ["project", "question"]
    gauges = {name: GaugeMetricFamily(f"spagree_{name}", words, labels=names) for name, words in METRICS.items()}
    for question, live in hub.lives().items():
        spa, alerts = getattr(live.headline, "value", None), len(hub.register.of_question(*question)[0])
        values = (spa, live.safe.low, live.safe.high, len(live.columns.item), alerts)
        for gauge, value in zip(gauges.values(), values, strict=True):
            if value is not None:
                gauge.add_metric(list(question), float(value))
    failing = GaugeMetricFamily("spagree_source_failing", "Whether a source fails now", labels=["source"])
    last = GaugeMetricFamily("spagree_source_last_fault", "When a source last failed", labels=["source"])
    for name, fault in hub.faults.items():
        failing.add_metric([name], float(not fault.is_over))
        last.add_metric([name], fault.at)
    is_failing, drift = bool(hub.trouble()), sum(comparison.total for comparison in hub.reconciled.values())
    return [
        *gauges.values(),
        failing,
        last,
        GaugeMetricFamily("spagree_store_failing", "Whether nothing can be stored now", value=is_failing),
        CounterMetricFamily("spagree_events", "Events received since the start", value=hub.taken),
        CounterMetricFamily("spagree_drift", "Annotations corrected by comparisons since the start", value=drift),
    ]
