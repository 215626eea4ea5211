"""Agents ask by the Model Context Protocol: over pipes, over HTTP, and with what they should not ask."""

from __future__ import annotations

import asyncio
import base64
import io
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from drawings import ABSENT, THERE, svg
from PIL import Image

pytest.importorskip("mcp", reason="the extra mcp is not installed")
pytest.importorskip("fastapi", reason="the extra server is not installed")

from mcp import Client, StdioServerParameters

from sketchseek import Index
from sketchseek.agents import agent_server
from sketchseek.evaluation.open_set import auroc
from sketchseek.server.decoding import Decoder
from sketchseek.server.library import Library
from sketchseek.server.limits import Limits

pytestmark = pytest.mark.slow

STAR = THERE["star"]


def done(work):
    """What a coroutine gives, in a thread of its own: in this one, tests of pages may have left a loop."""
    with ThreadPoolExecutor(1) as alone:
        return alone.submit(asyncio.run, work).result()


def asked(server, *calls):
    """What each call of a tool gives, in one session."""

    async def ask():
        async with Client(server) as client:
            return [await client.call_tool(name, arguments) for name, arguments in calls]

    return done(ask())


@pytest.fixture(scope="module")
def decoder():
    made = Decoder(Limits())
    yield made
    made.close()


@pytest.fixture(scope="module")
def server(shape_index, decoder):
    return agent_server(Library(shape_index), decoder)


def test_the_tools_say_how_to_draw_and_only_read(server):
    async def ask():
        async with Client(server) as client:
            return (await client.list_tools()).tools

    tools = {tool.name: tool for tool in done(ask())}
    assert set(tools) == {"search", "explain", "picture", "collection"}
    assert all(tool.annotations.read_only_hint for tool in tools.values())
    for said in ("viewBox", "outline first", "1 to 8 strokes"):
        assert said in tools["search"].description


def test_a_drawing_is_found_explained_and_shown(server, shape_pictures):
    found, known = asked(server, ("search", {"svg": svg(STAR), "thumbnails": 2}), ("collection", {}))
    answer = found.structured_content
    assert "star" in os.path.basename(answer["hits"][0]["picture"])
    assert not found.is_error
    images = [part for part in found.content if part.type == "image"]
    assert len(images) == 2
    assert Image.open(io.BytesIO(base64.b64decode(images[0].data))).format == "JPEG"
    assert known.structured_content["pictures"] == answer["pictures"]
    hit = answer["hits"][0]
    why, whole, part, alike = asked(
        server,
        ("explain", {"id": hit["id"], "svg": svg(STAR)}),
        ("picture", {"id": hit["id"]}),
        ("picture", {"id": hit["id"], "box": hit["box"], "side": 200}),
        ("search", {"picture": hit["id"], "k": 1}),
    )
    assert why.structured_content["sentence"]
    assert why.content[1].mime_type == "image/png"
    sizes = [Image.open(io.BytesIO(base64.b64decode(r.content[1].data))).size for r in (whole, part)]
    assert max(sizes[0]) == 768
    assert max(sizes[1]) <= 200
    assert alike.structured_content["hits"]


def test_strokes_and_an_uploaded_picture_are_drawings_too(server, shape_pictures):
    strokes = [
        [[50, 0], [61, 36], [98, 36], [68, 58], [79, 94], [50, 72], [21, 94], [32, 58], [2, 36], [39, 36]]
    ]
    data = base64.b64encode((shape_pictures / "star.jpg").read_bytes()).decode()
    for answer in asked(server, ("search", {"strokes": strokes}), ("search", {"picture": data})):
        assert "star" in answer.structured_content["hits"][0]["picture"]


HOSTILE = {
    "a path": ("search", {"picture": "/etc/passwd"}),
    "a long path": ("search", {"picture": "/" + "a/" * 40 + "b.png"}),
    "a path for an id": ("picture", {"id": "../../etc/passwd"}),
    "an id that is not there": ("picture", {"id": "0" * 16}),
    "nothing": ("search", {}),
    "two drawings": ("search", {"svg": svg(STAR), "strokes": [[[0, 0], [1, 1]]]}),
    "no svg": ("search", {"svg": "file:///etc/passwd"}),
    "entities": ("search", {"svg": '<!DOCTYPE svg [<!ENTITY a SYSTEM "file:///etc/passwd">]><svg>&a;</svg>'}),
    "an endless svg": ("search", {"svg": "<svg>" + "<g>" * 5000 + "</svg>"}),
    "too many hits": ("search", {"svg": svg(STAR), "k": 10**6}),
    "infinity": ("search", {"strokes": [[[0, 1e300], [1, 1]]]}),
    "many points": ("search", {"strokes": [[[i % 97, i % 89] for i in range(20_001)]]}),
    "a box elsewhere": ("picture", {"id": None, "box": [5000, 5000, 5001, 5001]}),
    "a box of text": ("picture", {"id": None, "box": "all"}),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_what_should_not_be_asked_is_refused_in_words(server, shape_index, what):
    name, arguments = HOSTILE[what]
    if "id" in arguments and arguments["id"] is None:
        arguments = {**arguments, "id": Index.open(shape_index).state.id(0)}
    (answer,) = asked(server, (name, arguments))
    assert answer.is_error
    said = answer.content[0].text
    assert said
    assert "Traceback" not in said
    assert "root:" not in said


def test_there_is_no_tool_that_writes(server):
    try:
        (answer,) = asked(server, ("remove", {"paths": ["/"]}))
    except Exception as error:  # so do earlier versions of the protocol's package
        said = str(error)
    else:
        assert answer.is_error
        said = answer.content[0].text
    assert "remove" in said


def test_over_pipes(shape_index):
    command = [sys.executable, "-m", "sketchseek", "mcp", "--index", str(shape_index)]
    here = StdioServerParameters(command=command[0], args=command[1:], env={**os.environ})
    (answer,) = asked(here, ("search", {"svg": svg(STAR), "k": 3, "thumbnails": 0}))
    assert len(answer.structured_content["hits"]) == 3


def test_over_http_behind_the_token(shape_index):
    from starlette.testclient import TestClient

    from sketchseek.server.app import create_app

    ask = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "search", "arguments": {"svg": svg(STAR), "k": 2, "thumbnails": 0}},
    }
    headers = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-06-18"}
    with TestClient(create_app(shape_index, token="word"), base_url="http://127.0.0.1:8000") as client:
        assert client.post("/mcp", json=ask, headers=headers).status_code == 401
        answer = client.post("/mcp", json=ask, headers={**headers, "authorization": "Bearer word"})
        foreign = {**headers, "authorization": "Bearer word", "origin": "https://elsewhere.example"}
        assert client.post("/mcp", json=ask, headers=foreign).status_code == 403
    assert answer.status_code == 200, answer.text
    assert len(answer.json()["result"]["structuredContent"]["hits"]) == 2


def test_the_packages_own_client_over_http(shape_index):
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    command = [sys.executable, "-m", "sketchseek", "serve", "--index", str(shape_index), "--port", "0"]
    serving = subprocess.Popen([*command, "--token", "word"], stdout=subprocess.PIPE, text=True)
    try:
        address = re.search(r"http://[^/]+/", serving.stdout.readline())[0]

        async def ask():
            known = httpx2.AsyncClient(headers={"authorization": "Bearer word"})
            async with known, Client(streamable_http_client(f"{address}mcp", http_client=known)) as client:
                tools = (await client.list_tools()).tools
                return tools, await client.call_tool("search", {"svg": svg(STAR), "k": 3})

        tools, answer = done(ask())
    finally:
        serving.terminate()
        serving.wait(30)
    assert {tool.name for tool in tools} == {"search", "explain", "picture", "collection"}
    assert "star" in answer.structured_content["hits"][0]["picture"]
    assert answer.content[1].type == "image"


def test_thirty_icons_drawn_from_words_are_found_and_are_likelier_there_than_ten_others(tmp_path, decoder):
    """By shape alone, the smallest index there is; with the network, all are found."""
    pytest.importorskip("pytablericons", reason="the demo's icons are not installed")
    from sketchseek.demo import chosen

    icons = [path for path in chosen() if path.suffix == ".svg"]
    Index.create(tmp_path / "index", detector="canny", expansion=False).add(icons)
    server = agent_server(Library(tmp_path / "index"), decoder)
    drawn = [*THERE.items(), *ABSENT.items()]
    answers = asked(server, *(("search", {"svg": svg(path), "thumbnails": 0}) for _, path in drawn))
    first = [[Path(hit["picture"]).stem for hit in a.structured_content["hits"]] for a in answers]
    found = sum(name in names for (name, _), names in zip(drawn[:30], first[:30], strict=True))
    said = [answer.structured_content for answer in answers]
    present = np.array([one["present"] for one in said])
    assert len(THERE) == 30
    assert found >= 24
    assert not any(one["absent"] for one in said[:30])
    assert auroc(present, np.arange(len(drawn)) < 30) > 0.8
