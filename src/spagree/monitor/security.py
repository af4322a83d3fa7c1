"""Who may ask what: a token compared in constant time, the Host and Origin of requests, size limits, and
answers that reveal nothing about the machine.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import secrets
import time
from collections import OrderedDict, deque
from typing import Any
from urllib.parse import parse_qsl

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from spagree.monitor.pages import login

LOOPBACK = ("127.0.0.1", "localhost", "[::1]", "::1")
LARGEST_BODY, LARGEST_FORM, LARGEST_HEAD = 16 * 1024 * 1024, 8 * 1024, 32 * 1024
SLOWEST_BODY, SLOWEST_HEAD = 30.0, 10.0  # seconds
MOST_HEADERS, MOST_CONNECTIONS = 100, 900
HEAD_TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
COOKIE = "spagree_session"
FAILURES, WINDOW = 10, 60.0  # wrong tokens of one client in a minute
OPEN_PATHS = ("/healthz", "/login")
SIGNED_PATHS = ("/hooks/potato",)  # verified by their signature if the secret is known
HEADERS = {
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"no-referrer",
    b"cache-control": b"no-store",
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
}
NEEDED, BEARER = "a token is needed: Authorization: Bearer TOKEN", {"WWW-Authenticate": "Bearer"}
POLICY, NO_PAGE = b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"

log = logging.getLogger("spagree.monitor")


class Refusal(Exception):  # noqa: N818 (an answer, not a fault)
    """A request that is refused, with an answer that says what was wrong and what to do."""

    def __init__(self, status: int, words: str, **headers: str) -> None:
        super().__init__(words)
        self.answer = JSONResponse({"error": words}, status, headers)


def page_answer(html: str, policy: str, status: int = 200) -> Response:
    """A page with the policy of what it may do."""
    return Response(html, status, {"Content-Security-Policy": policy}, "text/html")


CROWDED: Any = Refusal(503, "too many connections are open; try again in a few seconds", **{"Retry-After": "5"}).answer


async def body_of(request: Request, largest: int = LARGEST_BODY) -> bytes:
    """The body, read up to the limits of size and time."""
    body = bytearray()
    try:
        async with asyncio.timeout(SLOWEST_BODY):
            async for chunk in request.stream():
                body += chunk
                if len(body) > largest:
                    raise Refusal(413, f"the body is larger than {largest:,} bytes; send less at a time")
    except ClientDisconnect:
        raise Refusal(400, "the body ended early") from None
    except TimeoutError:
        raise Refusal(408, f"the body did not arrive within {SLOWEST_BODY:g} seconds; send it again") from None
    return bytes(body)


async def form_of(request: Request) -> dict[str, str]:
    """The fields of a small form."""
    text = (await body_of(request, LARGEST_FORM)).decode("utf-8", "replace")
    try:
        return dict(parse_qsl(text, max_num_fields=5))
    except ValueError:
        raise Refusal(422, "the form has more fields than it should") from None


class LimitedProtocol(HttpToolsProtocol):
    """Refuses a head that is too large, and hangs up on a head or body that takes too long, even an answered one."""

    _end: asyncio.TimerHandle | None = None
    _is_head = True
    _size, _tail = 0, b""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first head."""
        super().connection_made(transport)
        self._await(SLOWEST_HEAD)

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is waited for any more."""
        self._await(None)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Count what belongs to a head."""
        if self._is_head and self._end is not None:
            end = (self._tail + data).find(b"\r\n\r\n")
            self._size += len(data) if end < 0 else end
            self._tail = data[-3:]
            if self._size > LARGEST_HEAD:
                self._await(None)
                self.transport.write(HEAD_TOO_LARGE)
                self.transport.close()
                return
        if not self.transport.is_closing():
            super().data_received(data)

    def on_message_begin(self) -> None:
        """A head begins; the first is awaited already."""
        if self._end is None:
            self._await(SLOWEST_HEAD)
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """The guard takes over; whether it reads the body or not, that has to end."""
        self._await(SLOWEST_BODY + SLOWEST_HEAD, is_head=False)
        self.app = CROWDED if len(self.connections) > MOST_CONNECTIONS else self.config.loaded_app
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Nothing more is to come of this request."""
        self._await(None)
        super().on_message_complete()

    def _await(self, seconds: float | None, *, is_head: bool = True) -> None:
        if self._end is not None:
            self._end.cancel()
        self._is_head, self._size, self._tail = is_head, 0, b""
        self._end = None if seconds is None else self.loop.call_later(seconds, self.transport.close)


class Guard:
    """Checks every request before the routes see it; on loopback without a token only its Host and Origin."""

    def __init__(self, app: Any, token: str | None = None, *, signed: bool = False, proxied: bool = False) -> None:
        self.app, self._token, self._signed, self._proxied = app, token, signed, proxied
        self._sessions: set[str] = set()
        self._failed: OrderedDict[str, deque[float]] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or refuse it in words; every answer carries the headers."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = [each for each in message.get("headers", []) if each[0] not in HEADERS]
                has_policy = any(name == POLICY for name, _ in headers)
                message["headers"] = [*headers, *([] if has_policy else [(POLICY, NO_PAGE)]), *HEADERS.items()]
            await send(message)

        request = Request(scope, receive)
        try:
            refused = self._refused(request)
            if refused is None and request.scope["path"] == "/login" and request.method == "POST":
                refused = await self._login(request)
        except Refusal as error:
            refused = error.answer
        try:
            await (refused or self.app)(scope, receive, send_safely)
        except Exception:  # answered already, by the handler of the application
            log.exception("request failed", extra={"path": request.scope["path"]})

    def _refused(self, request: Request) -> Response | None:
        if len(request.scope["headers"]) > MOST_HEADERS:
            raise Refusal(431, f"more than {MOST_HEADERS} header fields")
        host = request.headers.get("host", "")
        name = host if host == "::1" or host.endswith("]") else host.rsplit(":", 1)[0]
        if self._token is None and name not in LOOPBACK:
            raise Refusal(403, "unknown Host; use http://127.0.0.1, or start with --host and --token-file")
        origin = request.headers.get("origin")
        # a form of the page itself, sent without referrer
        is_own_form = origin == "null" and request.headers.get("sec-fetch-site") == "same-origin"
        if origin is not None and origin.partition("://")[2] != host and not is_own_form:
            raise Refusal(403, "requests from other sites are refused")
        path = request.scope["path"]
        request.scope["is_known"] = self._token is None or self._has_token(request)
        if request.scope["is_known"] or (self._signed and path in SIGNED_PATHS):
            return None
        if "authorization" in request.headers:  # also where none is needed: nobody shall guess without being counted
            raise self._wrong(request, NEEDED, **BEARER)
        if path in OPEN_PATHS:
            return None
        if path == "/" and request.method == "GET":  # a page for people, text for programs
            return page_answer(*login(), 401)
        raise Refusal(401, NEEDED, **BEARER)

    def _has_token(self, request: Request) -> bool:
        session = request.cookies.get(COOKIE, "")
        if any(hmac.compare_digest(session.encode(), known.encode()) for known in self._sessions):
            return True
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        return scheme.lower() == "bearer" and self._is_token(token)

    def _is_token(self, token: str) -> bool:
        return self._token is not None and hmac.compare_digest(token.strip().encode(), self._token.encode())

    def _wrong(self, request: Request, words: str, **headers: str) -> Refusal:
        """The answer to a wrong token; after too many the client has to wait, unless it brings the right one."""
        client = request.client.host if request.client else ""
        if self._proxied:  # what our proxy has added; what stands before it the client may have invented
            client = request.headers.get("x-forwarded-for", client).rpartition(",")[2].strip()
        now = time.monotonic()
        failed = self._failed.setdefault(client, deque(maxlen=FAILURES + 1))
        failed.append(now)
        self._failed.move_to_end(client)
        while next(iter(self._failed.values()))[-1] < now - WINDOW:
            self._failed.popitem(last=False)
        while failed[0] < now - WINDOW:
            failed.popleft()
        if len(failed) > FAILURES:
            return Refusal(429, "too many wrong tokens; wait a minute", **{"Retry-After": "60"})
        return Refusal(401, words, **headers)

    async def _login(self, request: Request) -> Response:
        """Exchange the token for a session cookie that only this site's pages send."""
        form = await form_of(request)
        if not self._is_token(form.get("token", "")):
            raise self._wrong(request, "wrong token; it is in the file given with --token-file")
        session = secrets.token_urlsafe(32)
        self._sessions.add(session)
        answer = RedirectResponse("/", 303)
        forwarded = request.headers.get("x-forwarded-proto") if self._proxied else None
        secure = (forwarded or request.url.scheme) == "https"
        answer.set_cookie(COOKIE, session, httponly=True, samesite="strict", secure=secure)
        return answer
