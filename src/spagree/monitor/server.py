"""The routes: annotations in, figures out; each is a few lines, and every refusal says why."""

from __future__ import annotations

import asyncio
import io
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qs, urlencode

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
from spagree.monitor import hooks, page
from spagree.monitor.alerts import notice
from spagree.monitor.hub import Hub, Question
from spagree.monitor.ledger import Events
from spagree.monitor.live import Live
from spagree.monitor.security import Guard, TooLargeError, TooSlowError, body_of, problem
from spagree.monitor.store import BusyError, StoreError
from spagree.present.report.page import own_file
from spagree.timestamps import usual

LONGEST_MARK = 200
EVERY, SHARE = 5.0, 8.0  # sections are made every five seconds, and take an eighth of the time at most
HOUR = 3600.0
METRICS = {
    "spa": "Sparse Probability of Agreement of all annotations",
    "safe_low": "Lower safe bound",
    "safe_high": "Upper safe bound",
    "annotations": "Annotations that count",
    "open_alerts": "Open alerts",
}


def application(hub: Hub, token: str | None = None, potato_secret: str | None = None) -> Guard:
    """The whole server as an ASGI application, behind its guard."""
    routes = Routes(hub, potato_secret)

    @asynccontextmanager
    async def life(_app: Starlette) -> AsyncIterator[None]:
        yield
        routes.stopping.set()
        await asyncio.to_thread(hub.close)

    app = Starlette(
        routes=[
            Route("/", routes.show),
            Route("/changing", routes.changing),
            Route("/events", routes.events),
            Route("/marks", routes.mark_form, methods=["POST"]),
            Route("/api/v1/annotations", routes.take, methods=["POST"]),
            Route("/api/v1/agreement", routes.agreement),
            Route("/api/v1/projects", routes.projects),
            Route("/api/v1/alerts", routes.alerts),
            Route("/api/v1/marks", routes.marks, methods=["GET", "POST"]),
            Route("/api/v1/export", routes.export),
            Route("/api/v1/openapi.json", routes.openapi),
            Route("/hooks/label-studio", routes.label_studio, methods=["POST"]),
            Route("/hooks/potato", routes.potato, methods=["POST"]),
            Route("/metrics", routes.metrics),
            Route("/healthz", routes.health),
        ],
        exception_handlers=HANDLERS,
        lifespan=life,
    )
    return Guard(app, token, signed=potato_secret is not None)


def _answer(status: int, message: str | None = None, **headers: str) -> Callable[..., Awaitable[Response]]:
    """An error handler with a fixed message, or with that of the error."""

    async def answer(_request: Request, error: Exception) -> Response:
        return problem(status, str(error) if message is None else message, **headers)

    return answer


async def _http(_request: Request, error: HTTPException) -> Response:
    """Starlette's own errors in our words; ours begin with "no"."""
    words = {404: "there is nothing here; see /api/v1/openapi.json", 405: "this address takes a different method"}
    is_ours = error.detail.startswith("no ")
    detail = error.detail if is_ours else words.get(error.status_code, error.detail)
    return problem(error.status_code, detail, **(error.headers or {}))


HANDLERS: dict[Any, Any] = {
    Exception: _answer(500, "internal error; it was logged, please report it"),
    TooLargeError: _answer(413, "the body is larger than 16 MB; send fewer annotations at a time"),
    TooSlowError: _answer(408, "the body did not arrive within 30 seconds; send it again"),
    SpagreeError: _answer(422),
    BusyError: _answer(
        503, "too many events are waiting for the disk; send it again in a second", **{"Retry-After": "1"}
    ),
    StoreError: _answer(
        503, "the store did not accept it (disk full, or locked); nothing was stored: send it again later"
    ),
    HTTPException: _http,
}


class Routes:
    """One method for each address."""

    def __init__(self, hub: Hub, potato_secret: str | None) -> None:
        self.hub = hub
        self.stopping = asyncio.Event()
        self._potato = Webhook(potato_secret.encode()) if potato_secret else None
        self._bodies: dict[Question, tuple[float, page.Body]] = {}
        self._pause = EVERY
        self._rendering = asyncio.Lock()

    async def take(self, request: Request) -> Response:
        """POST /api/v1/annotations: one annotation or many, acknowledged once they are durable."""
        return await self._accept(hooks.posted(await body_of(request)))

    async def _accept(self, events: Events) -> Response:
        await self.hub.take(events)
        return JSONResponse({"accepted": len(events)})

    async def label_studio(self, request: Request) -> Response:
        """POST /hooks/label-studio."""
        body = await body_of(request)
        events = hooks.label_studio(body)
        expected = hooks.expected_items(hooks.decoded(body).get("project"))
        if expected:
            self.hub.expected[expected[0]] = expected[1]
        return await self._accept(events)

    async def potato(self, request: Request) -> Response:
        """POST /hooks/potato, checking its signature if the secret is known."""
        body = await body_of(request)
        if self._potato is not None:
            try:
                self._potato.verify(body, dict(request.headers), json_parse=False)
            except Exception:  # the library raises many kinds of errors
                return problem(401, "the signature is missing, wrong or too old; check the secret of the webhook")
        return await self._accept(hooks.potato(body))

    def _question(self, request: Request) -> Question:
        """The requested question; a single one need not be named."""
        project, question = request.query_params.get("project"), request.query_params.get("question")
        matching = [
            key
            for key in self.hub.questions()
            if (project in (None, "") or key[0] == project) and (question in (None, "") or key[1] == question)
        ]
        if not matching:
            raise HTTPException(404, "no annotations of this project and question; see /api/v1/projects")
        if len(matching) > 1:
            raise DataError(
                f"{len(matching)} questions match; name one with project= and question=, see /api/v1/projects"
            )
        return matching[0]

    def _query(self, request: Request) -> dict[str, Any]:
        hours = request.query_params.get("hours", "")
        return {
            "annotator": request.query_params.get("annotator", ""),
            "hours": int(hours) if hours.isdecimal() and len(hours) < 6 else 0,  # noqa: PLR2004 (eleven years)
            "address": str(request.base_url).rstrip("/"),
        }

    async def _part(self, request: Request, question: Question) -> Live | None:
        """The figures of the requested part; None for everything."""
        query = self._query(request)
        if not query["annotator"] and not query["hours"]:
            return None
        since = time.time() - query["hours"] * HOUR if query["hours"] else 0.0
        return await asyncio.to_thread(self.hub.filtered, question, query["annotator"], since)

    async def agreement(self, request: Request) -> Response:
        """GET /api/v1/agreement: the JSON of `spagree score --json`, and the monitored figures."""
        live = await asyncio.to_thread(self.hub.fresh, self._question(request))
        return JSONResponse(_document(self.hub, live))

    async def projects(self, _request: Request) -> Response:
        """GET /api/v1/projects."""
        return JSONResponse({"questions": await asyncio.to_thread(self.hub.overview)})

    async def alerts(self, _request: Request) -> Response:
        """GET /api/v1/alerts."""
        register = self.hub.register
        return JSONResponse({"alerts": [alert.document() for alert in (*register.open.values(), *register.past[::-1])]})

    async def marks(self, request: Request) -> Response:
        """GET and POST /api/v1/marks: when the guidelines changed."""
        if request.method == "POST":
            value = hooks.decoded(await body_of(request))
            record = value if isinstance(value, dict) else {}
            at = record.get("time")
            moment = None if at is None else usual(str(at))
            await self._mark(str(record.get("project", "")), str(record.get("text", "")), moment)
        marks = {
            project: [{"time": at, "text": text} for at, text in of_project]
            for project, of_project in self.hub.marks.items()
        }
        return JSONResponse({"marks": marks})

    async def mark_form(self, request: Request) -> Response:
        """POST /marks, the form of the page."""
        form = parse_qs((await body_of(request)).decode("utf-8", "replace"), max_num_fields=5)
        fields = {name: form.get(name, [""])[0] for name in ("project", "question", "text")}
        await self._mark(fields["project"], fields["text"], None)
        return RedirectResponse("/?" + urlencode({name: fields[name] for name in ("project", "question")}), 303)

    async def _mark(self, project: str, text: str, at: float | None) -> None:
        if project not in {name for name, _ in self.hub.questions()}:
            raise DataError("project is missing or unknown; see /api/v1/projects")
        if not text.strip() or len(text) > LONGEST_MARK:
            raise DataError(f"text must say what changed, in 1 to {LONGEST_MARK} characters")
        hooks.checked(text, "label")
        await asyncio.to_thread(self.hub.mark, project, text.strip(), at)

    async def export(self, request: Request) -> Response:
        """GET /api/v1/export?format=csv|parquet: every annotation that counts."""
        question, kind = self._question(request), request.query_params.get("format", "csv")
        if kind not in ("csv", "parquet"):
            raise DataError("format must be csv or parquet")
        frame, content = await asyncio.to_thread(self.hub.ledger.columns(*question).frame), io.BytesIO()
        await asyncio.to_thread(frame.write_csv if kind == "csv" else frame.write_parquet, content)
        media = "text/csv; charset=utf-8" if kind == "csv" else "application/vnd.apache.parquet"
        headers = {"Content-Disposition": f"attachment; filename=annotations.{kind}"}
        return Response(content.getvalue(), media_type=media, headers=headers)

    async def show(self, request: Request) -> Response:
        """GET /: the live page of a question, or the overview."""
        questions = self.hub.questions()
        named = request.query_params.get("project") or request.query_params.get("question")
        question = self._question(request) if named or len(questions) == 1 else None
        query = self._query(request)
        async with self._rendering:
            content = await self._content(request, question) if question else page.NOTHING
            html, policy = await asyncio.to_thread(page.render, self.hub, question, query, content)
        return Response(html, headers={"Content-Security-Policy": policy}, media_type="text/html")

    async def changing(self, request: Request) -> Response:
        """GET /changing: the current sections and charts."""
        question = self._question(request)
        async with self._rendering:
            content = await self._content(request, question)
        return Response(json.dumps(content, ensure_ascii=False, allow_nan=False), media_type="application/json")

    async def _content(self, request: Request, question: Question) -> dict[str, Any]:
        """What changes: the current top, and sections rendered once for everybody, every few seconds."""
        version, live = await asyncio.to_thread(self.hub.live, question)
        part = await self._part(request, question)
        if part is not None:
            below = await asyncio.to_thread(page.body, part, version)
            return await asyncio.to_thread(page.changing, self.hub, part, version, below)
        rendered, body = self._bodies.get(question, (0.0, None))
        start = time.monotonic()
        if body is None or (body.version != version and start - rendered > self._pause):
            body = await asyncio.to_thread(page.body, live, version)
            self._bodies[question] = (time.monotonic(), body)
            self._pause = max(EVERY, SHARE * (time.monotonic() - start))
        return await asyncio.to_thread(page.changing, self.hub, live, version, body)

    async def events(self, _request: Request) -> Response:
        """GET /events: which questions changed."""
        queue = self.hub.listen()

        async def changed() -> AsyncIterator[dict[str, str]]:
            try:
                yield {"event": "hello", "data": "{}"}
                while not self.stopping.is_set():
                    project, question = await queue.get()
                    yield {"event": "changed", "data": json.dumps({"project": project, "question": question})}
            finally:
                self.hub.leave(queue)

        return EventSourceResponse(changed(), ping=15)

    async def metrics(self, _request: Request) -> Response:
        """GET /metrics for Prometheus."""
        content = await asyncio.to_thread(generate_latest, _Collector(self.hub))
        return Response(content, media_type="text/plain; version=0.0.4; charset=utf-8")

    async def health(self, _request: Request) -> Response:
        """GET /healthz."""
        return JSONResponse({"status": "ok"})

    async def openapi(self, _request: Request) -> Response:
        """GET /api/v1/openapi.json."""
        return Response(own_file("openapi.json", page.WEB), media_type="application/json")


def _document(hub: Hub, live: Live) -> dict[str, Any]:
    """The documented JSON, and the monitored figures."""
    if live.agreement is None:
        raise HTTPException(404, "no annotations of this project and question; see /api/v1/projects")
    safe = live.safe
    watched = {"items": safe.items, "value": safe.value, "low": safe.low, "high": safe.high}
    alerts, _ = hub.register.of_question(live.project, live.question)
    one, two, more = live.coverage
    return {
        **live.agreement.to_dict(),
        "live": {
            "project": live.project,
            "question": live.question,
            "safe": {**watched, "undefined": safe.undefined} if safe.undefined else watched,
            "target": live.settings.target,
            "coverage": {"one": one, "two": two, "three_or_more": more},
            "annotations_per_hour": live.per_hour,
            "superseded": live.columns.superseded,
            "notice": notice(live),
            "alerts": [alert.document() for alert in alerts],
        },
    }


class _Collector:
    """The metrics, as of the moment Prometheus asks."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    def collect(self) -> list[GaugeMetricFamily | CounterMetricFamily]:
        """Gauges for each question, and counters of events and drift."""
        names = ["project", "question"]
        gauges = {name: GaugeMetricFamily(f"spagree_{name}", words, labels=names) for name, words in METRICS.items()}
        for question in self._hub.questions():
            live = self._hub.live(question)[1]
            spa = live.agreement.spa.value if live.agreement else None
            alerts = len(self._hub.register.of_question(*question)[0])
            values = (spa, live.safe.low, live.safe.high, len(live.columns.item), alerts)
            for name, value in zip(METRICS, values, strict=True):
                if value is not None:
                    gauges[name].add_metric(list(question), float(value))
        drift = float(sum(comparison.total for comparison in self._hub.reconciled.values()))
        counters = [
            CounterMetricFamily("spagree_events", "Events received since the start", value=float(self._hub.taken)),
            CounterMetricFamily("spagree_drift", "Annotations corrected by comparisons since the start", value=drift),
        ]
        return [*gauges.values(), *counters]
