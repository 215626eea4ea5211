"""Behind a proxy: under a path of its own, and whom to believe about who asks."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urljoin

import httpx
import pytest
from starlette.testclient import TestClient

from sketchseek.errors import SketchseekError
from sketchseek.server.app import create_app
from sketchseek.server.proxy import ProxyHeaders, checked_prefix

pytestmark = pytest.mark.slow

FORGED = "203.0.113.9"


@pytest.mark.parametrize("strips", [True, False])
@pytest.mark.parametrize("told", ["by option", "by header"])
def test_everything_works_under_a_path(
    start_server: Callable, reverse_proxy: Callable, shape_index: Path, star, strips: bool, told: str
) -> None:
    """The page, everything it links to, a search, its pictures and the token, through a real proxy."""
    if told == "by option":
        server = start_server(shape_index, "--prefix", "/tools/draw/", "--token", "secret")
        address = reverse_proxy(server.port, "/tools/draw", strips)
    else:
        server = start_server(shape_index, "--proxy", "127.0.0.1", "--token", "secret")
        address = reverse_proxy(server.port, "/tools/draw", strips, x_forwarded_prefix="/tools/draw")
    with httpx.Client(follow_redirects=True, timeout=30) as browser:
        assert browser.get(address).status_code == 401
        welcome = browser.get(address, params={"token": "secret"})
        assert (welcome.status_code, str(welcome.url)) == (200, address)
        assert [cookie.path for cookie in browser.cookies.jar] == ["/tools/draw/"]
        seen, left = set(), [address]
        while left:
            page = left.pop()
            seen.add(page)
            answer = browser.get(page)
            assert answer.status_code == 200, page
            names = re.findall(r'(?:href|src|from) ?=?"([\w./]+)"|from "(\./\w+\.js)"', answer.text)
            links = {urljoin(page, first or second) for first, second in names}
            left += [link for link in links - seen if link not in left]
        assert {name.rpartition("/")[2] for name in seen} >= {
            "",
            "main.js",
            "api.js",
            "style.css",
            "viewer.js",
        }
        own = {"origin": re.match(r"http://[^/]+", address)[0]}
        found = browser.post(urljoin(address, "api/search"), json={"strokes": star}, headers=own).json()
        picture = browser.get(urljoin(address, f"api/pictures/{found['hits'][0]['id']}/thumbnail"))
        assert picture.headers["content-type"] == "image/webp"
        described = browser.get(urljoin(address, "openapi.json")).json()
        assert described["servers"] == [{"url": "/tools/draw"}]
        if not strips:  # one that strips must add the slash itself: what it passes on is "/" either way
            without_slash = browser.get(address.rstrip("/"))
            assert (without_slash.status_code, str(without_slash.url)) == (200, address)
    server.stop()


def clients(log: str) -> set[str]:
    return {json.loads(line)["client"] for line in log.splitlines() if line.startswith("{")}


def test_nobody_forges_the_log(start_server: Callable, shape_index: Path) -> None:
    server = start_server(shape_index, "--verbose")
    names = (
        "x-forwarded-for",
        "x-real-ip",
        "forwarded",
        "x-client-ip",
        "x-forwarded-host",
        "x-forwarded-prefix",
    )
    for name in names:
        assert httpx.get(f"{server.url}api/health", headers={name: FORGED}).status_code == 200
    assert clients(server.stop()) == {"127.0.0.1"}


def test_a_trusted_proxy_says_who_asks(
    start_server: Callable, reverse_proxy: Callable, shape_index: Path
) -> None:
    server = start_server(shape_index, "--verbose", "--proxy", "127.0.0.1", "--proxy", "10.0.0.0/8")
    address = reverse_proxy(server.port, "")
    httpx.get(f"{address}api/health", headers={"x-forwarded-for": f"{FORGED}, 198.51.100.7, 10.1.2.3"})
    assert clients(server.stop()) == {
        "198.51.100.7"
    }  # the last that is no proxy: more to the left is hearsay


@pytest.mark.parametrize(
    ("said", "client"),
    [
        ("203.0.113.9", "203.0.113.9"),
        ("203.0.113.9:4711", "203.0.113.9"),
        ("[2001:db8::1]:80, 127.0.0.1", "2001:db8::1"),
        ("::ffff:203.0.113.9", "203.0.113.9"),
        ("unknown", "127.0.0.1"),
        ("203.0.113.9, \r; DROP", "127.0.0.1"),
        (",,,", "127.0.0.1"),
        ("127.0.0.1, 127.0.0.1", "127.0.0.1"),
        ("", "127.0.0.1"),
    ],
)
def test_who_asks(said: str, client: str) -> None:
    assert ProxyHeaders(None, proxies=["127.0.0.1"]).visitor("127.0.0.1", [said]) == client  # type: ignore[arg-type]


def test_names_and_https_of_a_proxy(shape_index: Path) -> None:
    options = {"token": "secret", "names": ["Draw.Example"], "proxies": ["192.0.2.1"]}
    said = {"x-forwarded-host": "draw.example", "x-forwarded-proto": "https"}
    query = {"params": {"token": "secret"}, "follow_redirects": False}
    app = create_app(shape_index, **options)
    with TestClient(app, base_url="http://127.0.0.1:8000", client=("192.0.2.1", 1)) as proxy:
        welcome = proxy.get("/", headers=said, **query)
        assert "secure" in welcome.headers["set-cookie"].lower()
        page = {**said, "authorization": "Bearer secret", "origin": "https://draw.example"}
        assert proxy.get("/api/index", headers=page).status_code == 200
        assert proxy.get("/api/index", headers={**page, "origin": "https://evil.example"}).status_code == 403
        assert (
            proxy.get("/api/index", headers={**page, "x-forwarded-host": "evil.example"}).status_code == 421
        )
    app = create_app(shape_index, **options)
    with TestClient(app, base_url="http://127.0.0.1:8000", client=("192.0.2.2", 1)) as stranger:
        welcome = stranger.get("/", headers={**said, "x-forwarded-prefix": "/evil"}, **query)
        assert "secure" not in welcome.headers["set-cookie"].lower()
        assert welcome.headers["location"] == "/"
        stranger.cookies.clear()
        assert stranger.get("/", headers={"host": "draw.example"}, **query).status_code == 303


@pytest.mark.parametrize(
    "prefix", ["draw", "/a//b", "//evil.example", "/a/../b", "/a b", "/é", "/api", "/page/x", "/a?b"]
)
def test_odd_prefixes_are_refused(shape_index: Path, prefix: str) -> None:
    with pytest.raises(SketchseekError, match="prefix"):
        create_app(shape_index, prefix=prefix)
    app = create_app(shape_index, token="secret", proxies=["192.0.2.1"])
    with TestClient(app, base_url="http://127.0.0.1", client=("192.0.2.1", 1)) as proxy:
        welcome = proxy.get(
            "/",
            params={"token": "secret"},
            headers={"x-forwarded-prefix": prefix.encode()},
            follow_redirects=False,
        )
        assert (welcome.status_code, welcome.headers["location"]) == (303, "/")


def test_prefixes_and_proxies_are_checked() -> None:
    assert [checked_prefix(text) for text in ("", "/", "/draw", "/a.b/c-d/", "/apiary")] == [
        "", "", "/draw", "/a.b/c-d", "/apiary",
    ]  # fmt: skip
    with pytest.raises(SketchseekError, match="address"):
        ProxyHeaders(None, proxies=["proxy.example"])  # type: ignore[arg-type]
