"""A real Ray cluster of three nodes on this machine, and collections that are large enough to be spread."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from comparing import HEAD, NODE, write
from s3server import KEYS, s3_server

from sketchseek import Index, Sketch
from sketchseek.contours.synthetic import random_curves
from sketchseek.indexing.commits import row_of
from sketchseek.indexing.worker import Described, PictureShape
from sketchseek.shape.descriptor import describe, encode, norms
from sketchseek.shape.settings import Settings

STAR = [(50, 0), (61, 36), (98, 36), (68, 58), (79, 94), (50, 72), (21, 94), (32, 58), (2, 36), (39, 36)]
HOUSE = [(50, 0), (100, 45), (85, 45), (85, 95), (15, 95), (15, 45), (0, 45)]


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Three nodes; tests that end one add another. They die with this process, however it ends."""
    ray = pytest.importorskip("ray", reason="ray is not installed: make test-cluster installs it")
    from ray.cluster_utils import Cluster

    patch = pytest.MonkeyPatch()
    for name, value in {**KEYS, "AWS_ENDPOINT_URL": "http://127.0.0.1:9"}.items():
        if "_KEY" in name:
            patch.delenv(name, raising=False)
        else:
            patch.setenv(name, value)
    patch.setenv("RAY_worker_niceness", "0")  # where other things run, nice processes take minutes to start
    made = Cluster()
    try:
        made.add_node(**HEAD)
        for _ in range(2):
            made.add_node(wait=False, **NODE)
        made.wait_for_nodes(timeout=120)
        ray.init(address=made.address, namespace="sketchseek", log_to_driver=False)
        yield made
    finally:
        ray.shutdown()
        made.shutdown()
        patch.undo()


@pytest.fixture(scope="session")
def endpoint() -> Iterator[str]:
    """The address of an S3 server that has the bucket `pictures`."""
    boto3 = pytest.importorskip("boto3", reason="moto is not installed: make test-cluster installs it")
    pytest.importorskip("moto", reason="moto is not installed: make test-cluster installs it")
    with s3_server() as address:
        boto3.client(
            "s3",
            endpoint_url=address,
            aws_access_key_id="x",
            aws_secret_access_key="y",
            region_name="us-east-1",
        ).create_bucket(Bucket="pictures")
        yield address


@pytest.fixture(scope="session")
def synthetic() -> Callable[..., list[dict[str, Any]]]:
    """A function that makes rows of pictures of nothing in particular, of one to three windows."""
    settings = Settings.preset("compact")
    curves = np.stack([describe(random_curves(seed), settings) for seed in range(100)])

    def rows(numbers: range, expansion: int = 0, tokens: int = 0) -> list[dict[str, Any]]:
        out = []
        for number in numbers:
            random = np.random.default_rng(number)
            windows = 1 + number % 3
            shares = random.uniform(0.2, 1, (2, windows, 1)).astype(np.float32)
            codes = encode((shares * curves[random.integers(0, 100, (2, windows))]).sum(axis=0), settings)
            frames = np.array([[0, 0, 400, 300], [0, 0, 200, 200], [150, 60, 400, 260]], np.float32)[:windows]
            shape = PictureShape(
                code=codes[0].tobytes(),
                norms=norms(codes[0], settings).tobytes(),
                frame=frames[0].tobytes(),
                windows=codes[1:].tobytes(),
                window_frames=frames[1:].tobytes(),
                min_object_size=0.3,
                is_line_art=number % 5 == 0,
            )
            vector = random.normal(size=expansion).astype(np.float16).tobytes() if expansion else None
            seen = random.integers(0, 256, tokens, np.uint8)
            if tokens:
                seen[[-65, -1]] = 13, 18  # rows and columns
            name = f"/pictures/{number % 4}/{number:06}.png".encode()
            item = Described(name, 1, 1, b"d", 400, 300, b"", shape, vector, seen.tobytes() or None)
            out.append(row_of(f"{number:016x}", item, ("expansion", "tokens")))
        return out

    return rows


@pytest.fixture(scope="session")
def collection(tmp_path_factory: pytest.TempPathFactory, synthetic: Any) -> Path:
    """An index of 900 pictures in three fragments, one of them large."""
    where = tmp_path_factory.mktemp("collection") / "index"
    Index.create(where, "compact", detector="canny", expansion=False)
    for numbers in (range(700), range(700, 820), range(820, 900)):
        write(where, synthetic(numbers))
    return where


@pytest.fixture
def drawings() -> list[Sketch]:
    return [Sketch.from_strokes([[*shape, shape[0]]]) for shape in (STAR, HOUSE)]
