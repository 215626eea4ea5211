"""A published site for viewers of IIIF: its pictures as canvases, its drawings answered, as files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from sketchseek import Index
from sketchseek.errors import SketchseekError
from sketchseek.web.canvases import checked_address
from sketchseek.web.publish import ENGINES, publish

ADDRESS = "https://example.org/icons/"
ENGINE = Path(__file__).parents[2] / "src" / "sketchseek" / "web" / "engine"
needs_engine = pytest.mark.skipif(
    not all((ENGINE / name).exists() for name in ENGINES), reason="the engine for browsers: `make wasm`"
)


def identifiers(document: Any) -> list[str]:
    """All of them, at any depth."""
    if isinstance(document, list):
        return [found for one in document for found in identifiers(one)]
    if not isinstance(document, dict):
        return []
    own = [document["id"]] if "id" in document else []
    return own + [found for one in document.values() for found in identifiers(one)]


@pytest.mark.parametrize(
    "address", ["icons", "/icons/", "ftp://a/b", "https://a/?b", "https://", "https://a/#b"]
)
def test_what_is_no_address_is_refused(address):
    with pytest.raises(SketchseekError, match="address of a site"):
        checked_address(address)


@needs_engine
def test_pictures_are_canvases_and_drawings_are_answered(shape_index, tmp_path):
    site = tmp_path / "site"
    index = Index.open(shape_index)
    publish(index, site, iiif=ADDRESS.rstrip("/"))
    manifest = json.loads((site / "iiif" / "manifest.json").read_text())
    assert manifest["id"] == f"{ADDRESS}iiif/manifest.json"
    assert len(manifest["items"]) == len(index)
    for canvas in manifest["items"]:
        body = canvas["items"][0]["items"][0]["body"]
        assert body["id"].startswith(ADDRESS)
        with Image.open(site / body["id"].removeprefix(ADDRESS)) as image:  # it is there
            assert image.width / image.height == pytest.approx(canvas["width"] / canvas["height"], abs=0.03)
    begin = json.loads((site / "index.json").read_text())["begin"]["examples"]
    answers = sorted((site / "iiif").glob("drawing-*.json"))
    assert len(answers) == len(begin) > 0
    canvases = {canvas["id"]: canvas for canvas in manifest["items"]}
    for answer in answers:
        page = json.loads(answer.read_text())
        assert page["type"] == "AnnotationPage"
        assert all(found.startswith(ADDRESS) for found in identifiers(page))
        targets = [one["target"] for one in page["items"]]
        assert {target["source"]["id"] for target in targets} <= set(canvases)
        for target in targets:
            canvas = canvases[target["source"]["id"]]
            x, y, width, height = map(int, target["selector"][0]["value"].removeprefix("xywh=").split(","))
            assert 0 <= x < x + width <= canvas["width"]
            assert 0 <= y < y + height <= canvas["height"]


@needs_engine
def test_canvases_go_with_the_publication_that_had_them(shape_index, tmp_path):
    site = tmp_path / "site"
    publish(Index.open(shape_index), site, iiif=ADDRESS)
    assert list((site / "iiif").iterdir())
    publish(Index.open(shape_index), site)
    assert not list((site / "iiif").iterdir())
