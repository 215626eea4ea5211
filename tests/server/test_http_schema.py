"""Thousands of requests made from /openapi.json: no 5xx, no status and no body that is not documented."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

pytestmark = pytest.mark.slow

CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"


def fuzz(server, folder: Path, *arguments: str) -> int:
    """Run schemathesis against a server; how many requests it made."""
    command = [sys.executable, "-m", "schemathesis.cli", *arguments, "run", f"{server.url}openapi.json"]
    quietly = ["--generation-database", "none", "--suppress-health-check", "all", "--warnings", "off"]
    done = subprocess.run(
        [*command, "--checks", CHECKS, *quietly],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    return int(re.search(r"(\d+) generated", done.stdout)[1])


@pytest.mark.timeout(600)
def test_requests_made_from_the_schema(server, star, tmp_path: Path) -> None:
    (tmp_path / "many.toml").write_text("[generation]\nmax-examples = 650\nno-shrink = true\n")
    assert fuzz(server, tmp_path, "--config-file", "many.toml") >= 5000


@pytest.mark.timeout(300)
def test_pictures_that_are_there(server, star, tmp_path: Path) -> None:
    hits = httpx.post(f"{server.url}api/search", json={"strokes": star}).json()["hits"]
    ids = ", ".join(f'"{hit["id"]}"' for hit in hits)
    (tmp_path / "known.toml").write_text(
        f'[parameters]\n"path.id" = [{ids}]\n[generation]\nmax-examples = 30\n'
    )
    assert fuzz(server, tmp_path, "--config-file", "known.toml") >= 90
