"""Who may ask what: a token compared in constant time, the Host and Origin of requests, size limits, and answers that
reveal nothing about the machine.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import secrets
import time
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from spagree.monitor.page import login

LOOPBACK = ("127.0.0.1", "localhost", "[::1]", "::1")
LARGEST_BODY = 16 * 1024 * 1024
SLOWEST_BODY = 30.0  # seconds
COOKIE = "spagree_session"
FAILURES, WINDOW = 10, 60.0  # wrong tokens of one client in a minute
OPEN_PATHS = ("/healthz", "/login")
SIGNED_PATHS = ("/hooks/potato",)  # verified by their signature if the secret is known
HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
NO_PAGE = b"default-src 'none'; frame-ancestors 'none'"

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
log = logging.getLogger("spagree.monitor")


class TooLargeError(Exception):
    """A body beyond the limit."""


class TooSlowError(Exception):
    """A body that takes too long."""


async def body_of(request: Request) -> bytes:
    """The body, read up to the limits of size and time."""
    body = bytearray()
    try:
        async with asyncio.timeout(SLOWEST_BODY):
            async for chunk in request.stream():
                body += chunk
                if len(body) > LARGEST_BODY:
                    raise TooLargeError
    except TimeoutError:
        raise TooSlowError from None
    return bytes(body)


def problem(status: int, words: str, **headers: str) -> Response:
    """An answer that says what was wrong and what to do."""
    return JSONResponse({"error": words}, status_code=status, headers=headers)


class Guard:
    """Checks every request before the routes see it; on loopback without a token only its Host and Origin."""

    def __init__(self, app: Any, token: str | None = None, *, signed: bool = False) -> None:
        self.app, self._token, self._signed = app, token, signed
        self._sessions: set[str] = set()
        self._failed: defaultdict[str, deque[float]] = defaultdict(deque)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or refuse it in words."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request = Request(scope, receive)
        refused = self._refused(request)
        if refused is None and request.scope["path"] == "/login" and request.method == "POST":
            refused = await self._login(request)
        try:
            await (refused or self.app)(scope, receive, _safe_send(send))
        except Exception:  # answered already, by the handler of the application
            log.exception("request failed", extra={"path": request.scope["path"]})

    def _refused(self, request: Request) -> Response | None:
        host = request.headers.get("host", "")
        if self._token is None and _name(host) not in LOOPBACK:
            return problem(403, "unknown Host; use http://127.0.0.1, or start with --host and --token-file")
        origin = request.headers.get("origin")
        # a form of the page itself, sent without referrer
        is_own_form = origin == "null" and request.headers.get("sec-fetch-site") == "same-origin"
        if origin is not None and urlsplit(origin).netloc != host and not is_own_form:
            return problem(403, "requests from other sites are refused")
        if self._token is None or request.scope["path"] in OPEN_PATHS or self._has_token(request):
            return None
        if self._signed and request.scope["path"] in SIGNED_PATHS:
            return None
        return self._ask(request)

    def _has_token(self, request: Request) -> bool:
        session = request.cookies.get(COOKIE, "")
        if any(hmac.compare_digest(session.encode(), known_session.encode()) for known_session in self._sessions):
            return True
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        return scheme.lower() == "bearer" and not self._is_blocked(request) and self._is_token(token.strip())

    def _is_token(self, token: str) -> bool:
        return hmac.compare_digest(token.encode(), (self._token or "").encode())

    def _ask(self, request: Request) -> Response:
        """A page for people, text for programs; too many wrong tokens must wait."""
        if self._is_blocked(request):
            return problem(429, "too many wrong tokens; wait a minute", **{"Retry-After": "60"})
        if "authorization" in request.headers:
            self._failed[_client(request)].append(time.monotonic())
        elif request.scope["path"] == "/" and request.method == "GET":
            html, policy = login()
            return Response(html, 401, {"Content-Security-Policy": policy}, "text/html")
        return problem(401, "a token is needed: Authorization: Bearer TOKEN", **{"WWW-Authenticate": "Bearer"})

    def _is_blocked(self, request: Request) -> bool:
        failed = self._failed[_client(request)]
        while failed and failed[0] < time.monotonic() - WINDOW:
            failed.popleft()
        return len(failed) >= FAILURES

    async def _login(self, request: Request) -> Response:
        """Exchange the token for a session cookie that only this site's pages send."""
        if self._is_blocked(request):
            return problem(429, "too many wrong tokens; wait a minute", **{"Retry-After": "60"})
        form = parse_qs((await body_of(request)).decode("utf-8", "replace"), max_num_fields=5)
        if self._token is None or not self._is_token(form.get("token", [""])[0].strip()):
            self._failed[_client(request)].append(time.monotonic())
            return problem(401, "wrong token; it is in the file given with --token-file")
        session = secrets.token_urlsafe(32)
        self._sessions.add(session)
        answer = RedirectResponse("/", 303)
        secure = request.url.scheme == "https"
        answer.set_cookie(COOKIE, session, httponly=True, samesite="strict", secure=secure)
        return answer


def _name(host: str) -> str:
    return host if host == "::1" else host.rsplit(":", 1)[0] if not host.endswith("]") else host


def _client(request: Request) -> str:
    return request.client.host if request.client else ""


def _safe_send(send: Send) -> Send:
    async def wrapped(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            headers = [each for each in message.get("headers", []) if each[0] not in {name for name, _ in HEADERS}]
            if not any(name == b"content-security-policy" for name, _ in headers):
                headers.append((b"content-security-policy", NO_PAGE))
            message["headers"] = [*headers, *HEADERS]
        await send(message)

    return wrapped
