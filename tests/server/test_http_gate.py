"""Who may ask, and what browsers are told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from sketchseek.errors import SketchseekError
from sketchseek.server import address, serve
from sketchseek.server.app import create_app
from sketchseek.server.security import allowed_names, host_name, is_loopback, proof

TOKEN = "correct horse / battery"
EVERYWHERE = [
    "/",
    "/page/main.js",
    "/api/index",
    "/api/pictures/0123456789abcdef",
    "/metrics",
    "/openapi.json",
]


@pytest.fixture(scope="module")
def locked(shape_index: Path) -> Iterator[TestClient]:
    """A server that listens to the whole network."""
    app = create_app(shape_index, host="0.0.0.0", token=TOKEN)
    with TestClient(app, base_url="http://192.168.1.20:8000", follow_redirects=False) as client:
        yield client


@pytest.fixture(autouse=True)
def forget_cookies(locked: TestClient) -> None:
    locked.cookies.clear()


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "",
        "[::1",
        "evil.example:8000",
        "10.0.0.1",
    ],
)
def test_only_its_own_names(client: TestClient, host: str) -> None:
    for path in EVERYWHERE:
        assert client.get(path, headers={"host": host}).status_code == 421


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.0.0.1:8000", "localhost:1", "LOCALHOST", "[::1]:8000", "localhost."]
)
def test_its_own_names(client: TestClient, host: str) -> None:
    assert client.get("/api/health", headers={"host": host}).status_code == 200


def test_two_hosts_are_none(client: TestClient) -> None:
    headers = [("host", "127.0.0.1"), ("host", "evil.example")]
    assert client.get("/api/health", headers=headers).status_code == 421


def test_other_sites_may_not_ask(client: TestClient) -> None:
    form = {"files": {"picture": b"x"}}
    foreign = {"origin": "http://evil.example"}
    assert client.post("/api/search", headers=foreign, **form).status_code == 403
    assert client.post("/api/search", headers={"origin": "null"}, **form).status_code == 403
    assert client.get("/api/index", headers={"sec-fetch-site": "cross-site"}).status_code == 403
    answer = client.get("/api/index", headers={"origin": "http://127.0.0.1:8000"})
    assert answer.status_code == 200
    assert not any(name.startswith("access-control") for name in answer.headers)
    # A link from elsewhere may still lead to the page.
    assert client.get("/", headers={"sec-fetch-site": "cross-site"}).status_code == 200


@pytest.mark.parametrize("path", [*EVERYWHERE, "/nowhere"])
def test_security_headers_are_everywhere(client: TestClient, path: str) -> None:
    headers = client.get(path).headers
    assert headers["x-content-type-options"] == "nosniff"
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert headers["referrer-policy"] == "no-referrer"
    assert "server" not in headers


@pytest.mark.parametrize("path", EVERYWHERE)
def test_a_token_is_needed(locked: TestClient, path: str) -> None:
    assert locked.get(path).status_code == 401
    assert locked.get(path, headers={"authorization": "Bearer wrong"}).status_code == 401
    assert locked.get(path, headers={"cookie": "sketchseek=wrong"}).status_code == 401
    assert locked.get(path, headers={"cookie": f"sketchseek={TOKEN!r}"}).status_code == 401
    assert locked.get(path, headers={"cookie": 'sketchseek="\xff; =;;'.encode("latin-1")}).status_code == 401
    assert locked.get(path, params={"token": "wr\u00f6ng"}).status_code == 401
    assert locked.get(path, headers={"authorization": f"Bearer {TOKEN}"}).status_code in (200, 404)
    assert locked.get("/api/health").status_code == 200


def test_one_visit_unlocks_the_page(locked: TestClient) -> None:
    welcome = locked.get("/", params={"token": TOKEN})
    assert (welcome.status_code, welcome.headers["location"]) == (303, "/")
    cookie = welcome.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert proof(TOKEN) in cookie
    assert TOKEN not in cookie
    assert locked.get("/").status_code == 200
    assert locked.get("/api/index").status_code == 200
    # With the token, any number is a good name; a word that is not this machine's never is.
    assert locked.get("/api/index", headers={"host": "10.1.2.3:8000"}).status_code == 200
    assert locked.get("/api/index", headers={"host": "evil.example"}).status_code == 421


def test_the_token_is_not_logged(locked: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", "sketchseek.access"):
        locked.get("/", params={"token": TOKEN})
    assert caplog.messages
    assert "token" not in "".join(caplog.messages)


@pytest.mark.parametrize("token", ["", " ", "\t\n", "\u200b", "\x00", "a\nb", " padded", "caf\udce9"])
def test_a_token_that_keeps_nobody_out_is_refused(shape_index: Path, token: str) -> None:
    with pytest.raises(SketchseekError, match="token"):
        create_app(shape_index, host="0.0.0.0", token=token)
    with pytest.raises(SketchseekError, match="token"):
        serve(shape_index, "127.0.0.1", 0, token)


@pytest.mark.parametrize(
    "origin",
    ["http://[", "http://[::1", "http://127.0.0.1:eight", "//", "", "null", "http://u@127.0.0.1:8000", "é"],
)
def test_odd_origins_are_foreign(client: TestClient, origin: str) -> None:
    headers = {"origin": origin.encode("latin-1")}
    assert client.get("/api/index", headers=headers).status_code == 403
    assert client.get("/", headers=headers).status_code == 200


def test_the_usual_port_need_not_be_said(client: TestClient) -> None:
    for origin, host in [("http://localhost", "localhost:80"), ("https://localhost:443", "localhost")]:
        assert client.get("/api/index", headers={"origin": origin, "host": host}).status_code == 200
    headers = [("origin", "http://127.0.0.1:8000"), ("origin", "http://evil.example")]
    assert client.get("/api/index", headers=headers).status_code == 403


@pytest.mark.parametrize(
    "neighbour",
    [
        "a[b]=1",
        '{"json": true}',
        "=",
        'x="',
        "\xff=\xfe",
        "sketchseek",
        "sketchseek=old",
        "expires=Thu, 01 Jan",
        "a;;b=c=d",
    ],
)
def test_a_neighbours_cookie_does_not_lock_anybody_out(locked: TestClient, neighbour: str) -> None:
    ours = f"sketchseek={proof(TOKEN)}"
    for cookie in (f"{neighbour}; {ours}", f"{ours}; {neighbour}"):
        assert locked.get("/api/index", headers={"cookie": cookie.encode("latin-1")}).status_code == 200
    assert (
        locked.get(
            "/api/index", headers=[("cookie", neighbour.encode("latin-1")), ("cookie", ours)]
        ).status_code
        == 200
    )
    assert locked.get("/api/index", headers={"cookie": neighbour.encode("latin-1")}).status_code == 401


def test_a_token_beyond_latin(shape_index: Path) -> None:
    with TestClient(create_app(shape_index, token="žluťoučký kůň"), base_url="http://127.0.0.1") as client:
        bearer = {"authorization": "Bearer žluťoučký kůň".encode()}
        assert client.get("/api/index", headers=bearer).status_code == 200
        assert client.get("/", params={"token": "žluťoučký kůň"}, follow_redirects=False).status_code == 303


def test_strangers_are_not_kept_waiting_at_the_door(locked: TestClient, client: TestClient) -> None:
    for path in ("/", "/api/index", "/api/health"):
        assert locked.get(path).headers["connection"] == "close"
    assert locked.post("/api/search", content=b"x" * 100_000).headers["connection"] == "close"
    known = {"authorization": f"Bearer {TOKEN}"}
    assert "connection" not in locked.get("/api/index", headers=known).headers
    assert "connection" not in client.get("/api/index").headers


def test_addresses() -> None:
    assert is_loopback("127.0.0.1")
    assert is_loopback("127.8.8.8")
    assert is_loopback("::1")
    assert is_loopback("localhost")
    assert not any(map(is_loopback, ["0.0.0.0", "::", "192.168.1.2", "example.org"]))
    assert "evil.example" not in allowed_names("0.0.0.0")
    assert host_name("[::1]:80") == "::1"
    assert address("127.0.0.1", 8000, None) == "http://127.0.0.1:8000/"
    assert address("::1", 8000, "a b") == "http://[::1]:8000/?token=a%20b"
    assert "0.0.0.0" not in address("0.0.0.0", 8000, "x")
    assert address("127.0.0.1", 8000, "x", "/draw/") == "http://127.0.0.1:8000/draw/?token=x"


def test_the_page_is_small_and_its_own(client: TestClient) -> None:
    folder = Path(__file__).parents[2] / "src/sketchseek/web/page"
    files = list(folder.iterdir())
    assert sum(file.stat().st_size for file in files) < 130_000
    for file in files:
        address = "/" if file.name == "index.html" else f"/page/{file.name}"
        response = client.get(address)
        assert response.content == file.read_bytes()
        again = client.get(address, headers={"if-none-match": response.headers["etag"]})
        assert again.status_code == 304
        text = file.read_text().replace("http://www.w3.org/2000/svg", "")
        assert "http://" not in text
        assert "https://" not in text
        assert " style=" not in text
        assert " onclick=" not in text
    assert client.get("/page/main.js").headers["content-type"].startswith("text/javascript")
    assert client.get("/page/..%2f__init__.py").status_code == 404
