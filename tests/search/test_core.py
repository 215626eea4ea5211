"""Every number, name and sentence of the search's core stands in one place: src/cpp/search/constants.hpp."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from sketchseek.search.core import CORE, EVIDENCE, LIKENESS, PLACE
from sketchseek.shape.engine import _engine
from sketchseek.shape.engine.native import products

ROOT = Path(__file__).parents[2] / "src"
HEADER = ROOT / "cpp" / "search" / "constants.hpp"
ALSO = [ROOT / "cpp" / f"{name}.hpp" for name in ("engine", "tokens", "search/icons", "search/settings")]
"""Of what lies below and beside the core; their numbers stand once, too."""
SHIPPED = [
    path
    for pattern in ("sketchseek/**/*.py", "sketchseek/**/*.js", "cpp/**/*.hpp", "cpp/**/*.cpp")
    for path in ROOT.glob(pattern)
    if path not in (HEADER, *ALSO)
]


def text_of(path: Path) -> str:
    """Without what explains: a comment may name a thing."""
    text = path.read_text()
    if path.suffix == ".py":
        return re.sub(r'"""(.|\n)*?"""|#.*', "", text)
    return re.sub(r"//.*|/\*(.|\n)*?\*/", "", text)


def test_the_engine_says_what_its_numbers_mean() -> None:
    said = json.loads(_engine.description())
    assert tuple(said["evidence"]) == EVIDENCE
    assert tuple(said["likeness"]) == LIKENESS
    assert tuple(said["place"]) == PLACE
    assert len(set(EVIDENCE)) == len(EVIDENCE)
    assert CORE["candidates"] >= CORE["few"] > 0


def lists_again(text: str) -> list[str]:
    """Names of evidence, likeness or places that a file lists; one alone may be asked for by its name."""
    found = [name for name in EVIDENCE if " " in name and f'"{name}"' in text]
    for names in (EVIDENCE, LIKENESS, PLACE):
        rows = ["""["'],\\s*["']""".join(map(re.escape, names[i : i + 6])) for i in range(len(names) - 5)]
        found += [names[i] for i, row in enumerate(rows) if re.search(row, text)]
    return found if len(found) > 2 or not set(found) <= set(EVIDENCE) else []


def says_again(text: str) -> list[str]:
    """Sentences of the core that are in a file, with the full stop or without."""
    sentences = re.findall(r'constexpr char k\w+\[\] = "([^"]+)"', HEADER.read_text())
    assert len(sentences) >= 3
    return [sentence for sentence in sentences if sentence.rstrip(".") in text]


def counts_again(text: str) -> list[str]:
    """Constants of the core that a file defines under the same name, however it is written there."""
    headers = "".join(header.read_text() for header in (HEADER, *ALSO))
    numbers = re.findall(r"constexpr (?:int64_t|int|double) k(\w+) = ([-.\d]+);", headers)
    assert len(numbers) > 30
    values = {(name.lower(), float(value)) for name, value in numbers}
    again = []
    for name, value in re.findall(r"(\b[A-Za-z_]\w*)(?:: [\w\[\], ]+)? = (-?\d*\.?\d+)\b", text):
        plain = name.replace("_", "")
        plain = (plain[1:] if re.match("k[A-Z]", plain) else plain).lower()
        if (plain, float(value)) in values:
            again.append(name)
    return again


IN_PYTHON_TOO = {
    "contours/strokes.py": 2,  # strokes become points there, and in src/cpp/search/drawing.hpp for browsers
    "shape/query.py": 1,
    "search/options.py": 1,
    "module.cpp": 1,
}
"""Sentences that still stand in a second place. The fewer the better: never add to these."""
COUNTED_TWICE = {"sources/limits.py": ["FRAME"]}
"""The frame is the paper's: it stands for the maps here, and for the engine there."""


@pytest.mark.skipif(not HEADER.exists(), reason="the sources are not here")
@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name)
def test_every_name_sentence_and_number_stands_once(path: Path) -> None:
    text = text_of(path)
    assert not lists_again(text)
    twice = (names for end, names in COUNTED_TWICE.items() if path.as_posix().endswith(f"/{end}"))
    assert counts_again(text) == next(twice, [])
    known = sum(most for end, most in IN_PYTHON_TOO.items() if path.as_posix().endswith(f"/{end}"))
    assert len(says_again(text)) <= known


@pytest.mark.skipif(not HEADER.exists(), reason="the sources are not here")
def test_a_second_place_is_noticed() -> None:
    name, value = re.findall(r"constexpr int64_t k(Candidates) = (\d+);", HEADER.read_text())[0]
    written = (f"{name.upper()} = {value}", f"_{name.upper()}: Final = {value}", f"const k{name} = {value};")
    assert all(map(counts_again, (*written, f"let {name.lower()} = {value};")))
    assert lists_again("('mirrored', 'rotation', 'dx', 'dy', 'x0', 'y0')")
    assert lists_again('const e = ["shape z-score", "order score", "network cosine"];')
    assert says_again("'turn must be from 0 to 180 degrees'")
    assert not lists_again('PLACE.index("dx"), PLACE.index("dy")')


def test_nothing_that_ships_imports_the_reference() -> None:
    for path in ROOT.glob("sketchseek/**/*.py"):
        assert not re.search(r"^\s*(from|import) (tests|reference)\b", path.read_text(), re.MULTILINE), path


@pytest.mark.parametrize("kind", [np.int8, np.float32])
@pytest.mark.parametrize("build", _engine.supported_builds())
def test_products_are_those_of_numpy(build: str, kind: type) -> None:
    rng = np.random.default_rng(5)
    for n, m, d in ((0, 3, 5), (1, 1, 1), (4, 4, 16), (7, 5, 33), (130, 9, 385), (5, 0, 8)):
        rows = (rng.standard_normal((n, d)) * 40).astype(kind)
        others = rng.standard_normal((m, d)).astype(np.float32)
        found = _engine.products(rows, others, build).reshape(n, m)
        np.testing.assert_allclose(found, rows.astype(float) @ others.T.astype(float), atol=2e-3)
        if kind is np.float32:
            among = _engine.products(rows, rows, build).reshape(n, n)
            np.testing.assert_allclose(among, rows.astype(float) @ rows.T.astype(float), rtol=1e-4, atol=0.1)
    with pytest.raises(ValueError, match="one length"):
        _engine.products(np.zeros((2, 3), np.float32), np.zeros((2, 4), np.float32), build)
    with pytest.raises(ValueError, match="int8 or float32"):
        _engine.products(np.zeros((2, 3)), np.zeros((2, 3), np.float32), build)


def test_diffusion_solves_its_equation() -> None:
    rng = np.random.default_rng(4)
    vectors = rng.standard_normal((60, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors[7] = 0  # like nothing
    scores = rng.standard_normal(60).astype(np.float32)
    cosines = products(vectors, vectors)
    for neighbours in (1, 10, 100):
        found = _engine.diffused(scores, cosines, neighbours, 0.95)
        alike = np.maximum(cosines, 0).astype(np.float64)
        np.fill_diagonal(alike, 0)
        if neighbours < 60:
            alike[alike < -np.partition(-alike, neighbours - 1, axis=1)[:, [neighbours - 1]]] = 0
        total = alike.sum(axis=1)
        np.fill_diagonal(alike, total == 0)
        alike /= np.where(total == 0, 1, total)[:, None]
        exact = np.linalg.solve(np.eye(60) - 0.95 * alike, 0.05 * scores)
        np.testing.assert_allclose(found, exact, atol=2e-6)


@pytest.mark.parametrize(
    ("scores", "cosines", "neighbours", "share"),
    [
        (np.zeros(3), np.zeros((3, 2)), 1, 0.9),
        (np.zeros(3), np.zeros((3, 3)), 0, 0.9),
        (np.zeros(3), np.zeros((3, 3)), 1, 1.0),
        (np.full(3, np.nan), np.zeros((3, 3)), 1, 0.9),
        (np.zeros(3), np.full((3, 3), np.inf), 1, 0.9),
    ],
)
def test_what_diffusion_does_not_take(
    scores: np.ndarray, cosines: np.ndarray, neighbours: int, share: float
) -> None:
    with pytest.raises(ValueError, match="must be"):
        _engine.diffused(scores.astype(np.float32), cosines.astype(np.float32), neighbours, share)


def test_diffusion_of_nothing() -> None:
    assert len(_engine.diffused(np.zeros(0, np.float32), np.zeros((0, 0), np.float32), 3, 0.9)) == 0
