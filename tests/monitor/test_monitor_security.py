"""The guard before every route, asked directly: who is let through, what every answer carries."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from starlette.responses import PlainTextResponse

from spagree.monitor import security
from spagree.monitor.security import Guard

TOKEN = "correct-horse-battery-staple"
LOCAL = "127.0.0.1:8765"


async def inside(scope: Any, receive: Any, send: Any) -> None:
    await PlainTextResponse("inside")(scope, receive, send)


def ask(
    guard: Guard, path: str = "/", *, method: str = "GET", body: bytes = b"", client: str = "10.0.0.1", **headers: str
) -> tuple[int, dict[str, str], str]:
    """One request, without a network."""
    named = {"host": LOCAL, **{name.replace("_", "-"): value for name, value in headers.items()}}
    asked = {"type": "http", "method": method, "path": path, "raw_path": path.encode(), "query_string": b""}
    between = {"scheme": "http", "server": ("127.0.0.1", 8765), "client": (client, 1)}
    scope = {**asked, **between, "headers": [(name.encode(), value.encode()) for name, value in named.items()]}
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(guard(scope, receive, send))
    found = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], found, b"".join(each.get("body", b"") for each in sent[1:]).decode()


@pytest.fixture
def open_guard() -> Guard:
    return Guard(inside)


@pytest.fixture
def guard() -> Guard:
    return Guard(inside, TOKEN)


OURS = ["127.0.0.1:8765", "127.0.0.1", "localhost:1", "[::1]:8765", "[::1]", "::1"]
OTHERS = ["", "example.org", "127.0.0.1.example.org", "localhost.example.org:8765", "0.0.0.0:8765"]


@pytest.mark.parametrize("host", OURS + OTHERS)
def test_without_a_token_only_this_machine_is_known(open_guard: Guard, host: str) -> None:
    assert ask(open_guard, host=host)[0] == (200 if host in OURS else 403)


@pytest.mark.parametrize(
    ("origin", "status"),
    [(f"http://{LOCAL}", 200), ("http://127.0.0.1:1", 403), ("https://example.org", 403), ("null", 403), ("", 403)],
)
def test_other_origins_are_refused_whatever_they_ask(open_guard: Guard, origin: str, status: int) -> None:
    for method in ("GET", "POST"):
        assert ask(open_guard, method=method, origin=origin)[0] == status


RIGHT = [f"Bearer {TOKEN}", f"bearer {TOKEN}", f"Bearer  {TOKEN} "]
WRONG = [f"Basic {TOKEN}", f"Bearer {TOKEN[:-1]}", f"Bearer {TOKEN}x", "Bearer ", "Bearer", TOKEN, "Bearer \u00fc"]


def test_only_the_token_opens(guard: Guard) -> None:
    for given in RIGHT:
        assert ask(guard, "/api/v1/agreement", authorization=given)[0] == 200
    for given in WRONG:
        assert ask(guard, "/api/v1/agreement", authorization=given)[0] == 401


def test_a_token_is_compared_in_constant_time(guard: Guard, monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[bytes, bytes]] = []

    def compare(one: bytes, other: bytes) -> bool:
        compared.append((one, other))
        return one == other

    monkeypatch.setattr(security.hmac, "compare_digest", compare)
    ask(guard, "/metrics", authorization="Bearer guess")
    assert compared == [(b"guess", TOKEN.encode())]


def test_what_needs_no_token(guard: Guard) -> None:
    assert ask(guard, "/healthz")[0] == ask(guard, "/healthz", authorization=f"Bearer {TOKEN}")[0] == 200
    assert ask(guard, "/healthz", authorization="Bearer no")[0] == 401  # guessing counts wherever it happens
    assert ask(guard, "/hooks/potato", method="POST")[0] == 401
    assert ask(Guard(inside, TOKEN, signed=True), "/hooks/potato", method="POST")[0] == 200
    assert ask(Guard(inside, TOKEN, signed=True), "/hooks/label-studio", method="POST")[0] == 401


def test_people_get_a_form_and_programs_get_words(guard: Guard) -> None:
    status, headers, text = ask(guard)
    assert status == 401 and "<form" in text and "form-action 'self'" in headers["content-security-policy"]
    status, headers, text = ask(guard, "/metrics")
    assert status == 401 and headers["www-authenticate"] == "Bearer" and "Authorization: Bearer TOKEN" in text
    assert TOKEN not in text


def test_signing_in_gives_a_session_that_opens(guard: Guard) -> None:
    status, headers, _ = ask(guard, "/login", method="POST", body=f"token={TOKEN}".encode())
    assert status == 303 and headers["location"] == "/" and TOKEN not in headers["set-cookie"]
    assert {"httponly", "samesite=strict"} <= set(headers["set-cookie"].lower().split("; "))
    cookie = headers["set-cookie"].split(";")[0]
    assert ask(guard, cookie=cookie)[0] == 200
    assert ask(guard, cookie=cookie + "x")[0] == 401
    assert ask(Guard(inside, TOKEN), cookie=cookie)[0] == 401  # another server does not know it


def test_signing_in_needs_the_token_and_a_monitor_that_has_one(guard: Guard, open_guard: Guard) -> None:
    for body in (b"", b"token=", b"token=wrong", b"other=1", b"\xff=\xff", f"token={TOKEN}x".encode()):
        status, headers, _ = ask(guard, "/login", method="POST", body=body)
        assert status == 401 and "set-cookie" not in headers
    assert ask(open_guard, "/login", method="POST", body=b"token=")[0] == 401


def test_wrong_tokens_are_counted_by_client_and_forgotten(guard: Guard, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(security.time, "monotonic", lambda: clock[0])
    for number in range(security.FAILURES):
        assert ask(guard, "/metrics", authorization="Bearer no", x_forwarded_for=f"10.1.0.{number}")[0] == 401
    assert ask(guard, "/metrics", authorization="Bearer no", x_forwarded_for="10.1.0.99")[0] == 429
    assert ask(guard, "/login", method="POST", body=b"token=no")[0] == 429
    assert ask(guard, "/metrics", authorization=f"Bearer {TOKEN}")[0] == 200  # the right one is never locked out
    assert ask(guard, "/login", method="POST", body=f"token={TOKEN}".encode())[0] == 303
    assert ask(guard, "/metrics", authorization="Bearer no", client="10.0.0.2")[0] == 401
    clock[0] = security.WINDOW + 1
    assert ask(guard, "/metrics", authorization="Bearer no")[0] == 401


def test_behind_a_proxy_the_client_is_whom_the_proxy_saw(monkeypatch: pytest.MonkeyPatch) -> None:
    """What stands before it in the header the client may have invented."""
    guard = Guard(inside, TOKEN, proxied=True)
    for number in range(security.FAILURES):
        seen = f"10.1.0.{number}, 203.0.113.7"
        assert ask(guard, "/metrics", authorization="Bearer no", x_forwarded_for=seen)[0] == 401
    assert ask(guard, "/metrics", authorization="Bearer no", x_forwarded_for="1.1.1.1, 203.0.113.7")[0] == 429
    assert ask(guard, "/metrics", authorization="Bearer no", x_forwarded_for="203.0.113.8")[0] == 401
    cookie = ask(guard, "/login", method="POST", body=f"token={TOKEN}".encode(), x_forwarded_proto="https")[1]
    assert "Secure" in cookie["set-cookie"]


def test_wrong_tokens_of_many_clients_are_forgotten(guard: Guard, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(security.time, "monotonic", lambda: clock[0])
    for number in range(30):
        clock[0] += security.WINDOW / 2
        ask(guard, "/metrics", authorization="Bearer no", client=f"10.0.1.{number}")
    assert len(guard._failed) <= 3


def test_a_failure_inside_is_logged_and_told_to_nobody(caplog: pytest.LogCaptureFixture) -> None:
    async def broken(scope: Any, receive: Any, send: Any) -> None:
        await PlainTextResponse("answered", 500)(scope, receive, send)
        raise RuntimeError("a secret of ours")

    status, _, text = ask(Guard(broken))
    assert status == 500 and "secret" not in text
    assert ["a secret of ours" in str(each.exc_info) for each in caplog.records] == [True]


def test_what_is_no_request_passes() -> None:
    seen = []

    async def life(scope: Any, receive: Any, send: Any) -> None:
        seen.append(scope["type"])

    asyncio.run(Guard(life, TOKEN)({"type": "lifespan"}, None, None))  # type: ignore[arg-type]
    assert seen == ["lifespan"]


class Slow:
    """A request whose body comes in chunks, with a pause before each."""

    def __init__(self, chunks: list[bytes], pause: float = 0.0) -> None:
        self.chunks, self.pause = chunks, pause

    async def stream(self) -> Any:
        for chunk in self.chunks:
            await asyncio.sleep(self.pause)
            yield chunk


def body_of(chunks: list[bytes], pause: float = 0.0) -> bytes:
    return asyncio.run(security.body_of(Slow(chunks, pause), 10))  # type: ignore[arg-type]


def test_bodies_are_read_up_to_the_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    assert body_of([b"12345", b"67890"]) == b"1234567890"
    with pytest.raises(security.Refusal, match="larger than 10 bytes"):
        body_of([b"12345", b"678901"])
    monkeypatch.setattr(security, "SLOWEST_BODY", 0.05)
    start = time.monotonic()
    with pytest.raises(security.Refusal, match="did not arrive"):
        body_of([b""] * 10_000, 0.02)
    assert time.monotonic() - start < 60


@pytest.mark.parametrize(
    ("method", "path", "body", "headers", "status"),
    [
        ("POST", "/login", b"token=" + b"x" * 20_000, {}, 413),
        ("POST", "/login", b"&".join(b"a=1" for _ in range(50)), {}, 422),
        ("POST", "/login", b"%" * 8_000, {}, 401),
        ("GET", "/", b"", {f"x_{i}": "y" for i in range(101)}, 431),
        ("GET", "/", b"", {"origin": "http://["}, 403),
        ("GET", "/", b"", {"origin": "://"}, 403),
        ("GET", "/", b"", {"origin": "http://[::1"}, 403),
        ("GET", "/metrics", b"", {"authorization": "Bearer " + "x" * 20_000}, 401),
        ("GET", "/metrics", b"", {"cookie": "; ".join(["a=1"] * 5_000)}, 401),
    ],
)
def test_whoever_has_no_token_gets_an_answer_and_no_more(
    guard: Guard, method: str, path: str, body: bytes, headers: dict[str, str], status: int
) -> None:
    assert ask(guard, path, method=method, body=body, **headers)[0] == status
