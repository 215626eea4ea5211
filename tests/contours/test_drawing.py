"""The same drawing, as strokes, SVG or pixels of many kinds, is the same to the search."""

from __future__ import annotations

import io
import json
import os
import tracemalloc
from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from sketchseek.contours import Sketch
from sketchseek.contours.outline import INSIDE, weighed
from sketchseek.contours.points import fold
from sketchseek.contours.skeleton import thin, trace
from sketchseek.errors import SketchseekError
from sketchseek.shape.descriptor import describe
from sketchseek.shape.settings import Settings
from sketchseek.sources.picture import load_picture
from sketchseek.sources.svg import svg_strokes

PRECISE = Settings.preset("precise")
DATA = Path(os.environ.get("SKETCHSEEK_DATA", Path(__file__).parents[2].parent / "shared" / "data"))


def likeness(a: Sketch, b: Sketch) -> float:
    u, v = describe(a.points, PRECISE), describe(b.points, PRECISE)
    return float(u @ v / np.linalg.norm(u) / np.linalg.norm(v))


def mug() -> list[np.ndarray]:
    """A mug with a handle and steam, in a page of 300."""
    t = np.linspace(0, 1, 40)[:, None]
    rim = np.hstack([150 + 70 * np.cos(2 * np.pi * t), 80 + 15 * np.sin(2 * np.pi * t)])
    body = np.array([[80, 80], [88, 240], [212, 240], [220, 80]], float)
    handle = np.hstack([215 + 50 * np.sin(np.pi * t), 120 + 80 * t])
    steam = np.hstack([150 + 8 * np.sin(7 * t), 60 - 45 * t])
    return [rim, body, handle, steam]


def as_svg(strokes: list[np.ndarray], width: float = 4) -> str:
    paths = "".join('<path d="M' + "L".join(f"{x:.3f} {y:.3f}" for x, y in s) + '"/>' for s in strokes)
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 300 300" fill="none" stroke="black" '
        f'stroke-linecap="round" stroke-linejoin="round" stroke-width="{width}">{paths}</svg>'
    )


def as_pixels(strokes: list[np.ndarray], width: float = 4, size: int = 300) -> np.ndarray:
    return load_picture(as_svg(strokes, width).encode(), longer_side=size).pixels


def photographed(pixels: np.ndarray) -> bytes:
    """Pencil on grey paper under a lamp at one side, grainy, as a JPEG."""
    big = cv2.resize(pixels, (1000, 1000), interpolation=cv2.INTER_CUBIC).astype(float)
    y, x = np.mgrid[:1000, :1000] / 1000
    light = 0.45 + 0.4 * x + 0.1 * np.sin(3 * y)
    grain = np.random.default_rng(1).normal(0, 5, big.shape)
    shot = (255 - (255 - big) * 0.6) * light[..., None] + grain
    out = io.BytesIO()
    Image.fromarray(shot.clip(0, 255).astype(np.uint8)).save(out, "JPEG", quality=85)
    return out.getvalue()


TRUE = Sketch.from_strokes(mug())
INK = 255 - as_pixels(mug())[..., :1]
BITMAPS = {
    "dark on light": as_pixels(mug()),
    "light on dark": 255 - as_pixels(mug()),
    "grey": as_pixels(mug())[..., 0],
    "not anti-aliased": np.where(as_pixels(mug()) < 128, 0, 255).astype(np.uint8),
    "hair line": as_pixels(mug(), 1.2),
    "thick": as_pixels(mug(), 9),
    "small": as_pixels(mug(), 5, 100),
    "large": as_pixels(mug(), 3, 1000),
    "yellow on blue": np.where(as_pixels(mug()) < 128, (250, 230, 60), (20, 30, 120)).astype(np.uint8),
    "black on transparent": np.dstack([np.zeros_like(INK).repeat(3, 2), INK]),
    "white on transparent": np.dstack([np.full_like(INK, 255).repeat(3, 2), INK]),
    "in a corner": np.pad(as_pixels(mug(), 4, 240), ((0, 400), (300, 0), (0, 0)), constant_values=255),
}


def test_svg_is_the_strokes() -> None:
    assert likeness(TRUE, Sketch.from_svg(as_svg(mug()))) > 0.9999


@pytest.mark.parametrize("name", BITMAPS)
def test_bitmap_is_the_strokes(name: str) -> None:
    sketch = Sketch.from_bitmap(BITMAPS[name])
    assert likeness(TRUE, sketch) > 0.98
    assert len(sketch.points) == pytest.approx(len(TRUE.points), rel=0.06)


def test_light_on_dark_equals_dark_on_light() -> None:
    assert (
        likeness(*(Sketch.from_bitmap(BITMAPS[f"{a}"]) for a in ("dark on light", "light on dark"))) > 0.9999
    )


def test_photographed_pencil_is_the_strokes() -> None:
    assert likeness(TRUE, Sketch.load(photographed(as_pixels(mug())))) > 0.98


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF"])
def test_files(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"mug.{kind.lower()}"
    Image.fromarray(as_pixels(mug())).save(path, kind)
    sketch = Sketch.load(path)
    assert likeness(TRUE, sketch) > 0.98
    assert sketch.name == str(path)


def test_hand_drawings_survive_becoming_pixels() -> None:
    """Real drawings: thinned once to strokes, painted, and thinned again."""
    files = sorted((DATA / "sketchy" / "sketches").glob("*/*.png"))[::37]
    if not files:
        pytest.skip("no drawings: set SKETCHSEEK_DATA")
    for file in files:
        once = Sketch.load(file)
        strokes = [stroke * 0.6 + 150 for stroke in once.strokes]
        assert likeness(once, Sketch.from_bitmap(as_pixels(strokes, 3))) > 0.98, file.name
        assert likeness(once, Sketch.from_svg(as_svg(strokes))) > 0.999, file.name


STROKES = [[[0, 0], [30, 10], [60, 0]], [[10, 40], [50, 40], [50, 60]]]
APART = [[[0, 30, 60], [0, 10, 0]], [[10, 50, 50], [40, 40, 60]]]
RAW = [[*stroke, [0, 16, 32]] for stroke in APART]


class TestJson:
    expected = Sketch.from_strokes(STROKES)

    @pytest.mark.parametrize(
        "document",
        [
            {"strokes": STROKES},
            {"strokes": STROKES, "k": 5},
            STROKES,
            {"word": "cat", "recognized": True, "drawing": APART},
            {"word": "cat", "drawing": RAW},
            APART,
            RAW,
        ],
    )
    def test_every_layout(self, document: object) -> None:
        sketch = Sketch.load(json.dumps(document).encode())
        np.testing.assert_array_equal(sketch.points.x, self.expected.points.x)
        np.testing.assert_array_equal(sketch.points.angle, self.expected.points.angle)

    def test_first_of_many_lines(self) -> None:
        lines = "\n".join(json.dumps({"drawing": d}) for d in (APART, [[[0, 1], [5, 9]]]))
        np.testing.assert_array_equal(Sketch.load(lines.encode()).points.x, self.expected.points.x)

    def test_two_points_are_two_points(self) -> None:
        """[[x, y], [x, y]] could be read as x's and y's; the contract's reading comes first."""
        points = Sketch.load(b"[[[0, 0], [10, 0]]]").points
        np.testing.assert_allclose(points.angle, 0)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.floats(-1e4, 1e4), st.floats(-1e4, 1e4)), min_size=2, max_size=12))
def test_sampling_follows_the_strokes(corners: list[tuple[float, float]]) -> None:
    line = np.array(corners)
    if np.ptp(line, axis=0).max() < 1:
        return
    sketch = Sketch.from_strokes([line])
    points = sketch.points
    assert max(points.width, points.height) == pytest.approx(400, rel=1e-5)
    assert np.isin(points.weight, np.float32([1, INSIDE])).all()
    stroke = sketch.strokes[0].astype(float)
    length = np.hypot(*np.diff(stroke, axis=0).T).sum()
    assert len(points) == max(1, round(length))
    both = np.concatenate(sketch.strokes)
    np.testing.assert_allclose(both.min(axis=0) + both.max(axis=0), 0, atol=1e-2)


@settings(deadline=None, max_examples=40)
@given(st.floats(-3.14, 3.14), st.booleans())
def test_a_straight_stroke_has_its_normal_either_way(direction: float, backwards: bool) -> None:
    ends = np.array([[0, 0], [np.cos(direction), np.sin(direction)]]) * 77
    points = Sketch.from_strokes([ends[::-1] if backwards else ends]).points
    normal = np.arctan2(-np.sin(direction), np.cos(direction))  # of (-ty, tx), from the vertical
    assert np.abs(fold(points.angle - normal)).max() < 1e-3


def test_mirrored_drawing_is_the_mirrored_points() -> None:
    mirrored = Sketch.from_strokes([stroke * [-1, 1] for stroke in mug()])
    np.testing.assert_allclose(mirrored.points.x, TRUE.points.mirrored().x, atol=1e-3)
    assert np.abs(fold(mirrored.points.angle - TRUE.points.mirrored().angle)).max() < 1e-3
    from_pixels = Sketch.from_bitmap(np.ascontiguousarray(as_pixels(mug())[:, ::-1]))
    assert likeness(mirrored, from_pixels) > 0.98


def test_a_silhouette_is_its_outline() -> None:
    pixels = np.full((400, 400), 255, np.uint8)
    cv2.circle(pixels, (200, 200), 150, 0, -1)
    points = Sketch.from_bitmap(pixels).points
    np.testing.assert_allclose(np.hypot(points.x, points.y), 200, atol=2)
    assert len(points) == pytest.approx(400 * np.pi, rel=0.03)
    # With thin limbs, still an outline all over.
    cv2.rectangle(pixels, (40, 190), (360, 210), 0, -1)
    limbs = Sketch.from_bitmap(pixels).points
    assert ((np.abs(limbs.y) < 1.5) & (np.abs(limbs.x) > 190)).sum() < 10


def test_a_solid_wheel_on_a_line_drawing_keeps_the_lines_lines() -> None:
    pixels = np.full((400, 600), 255, np.uint8)
    cv2.rectangle(pixels, (50, 50), (550, 250), 0, 5)
    cv2.circle(pixels, (150, 300), 45, 0, -1)
    points = Sketch.from_bitmap(pixels).points
    scale = 400 / 500
    assert len(points) == pytest.approx((2 * 700 + 2 * np.pi * 45) * scale, rel=0.06)


def test_thinning_keeps_lines_and_holes() -> None:
    pixels = np.zeros((120, 160), np.uint8)
    cv2.circle(pixels, (50, 60), 30, 1, 9)
    cv2.line(pixels, (90, 20), (150, 110), 1, 7)
    skeleton = thin(pixels > 0)
    before, _ = cv2.connectedComponents(pixels)
    after, _ = cv2.connectedComponents(skeleton.astype(np.uint8), connectivity=8)
    assert before == after
    holes = [cv2.connectedComponents((1 - m).astype(np.uint8), connectivity=4)[0] for m in (pixels, skeleton)]
    assert holes[0] == holes[1]
    blocks = skeleton[:-1, :-1] & skeleton[1:, :-1] & skeleton[:-1, 1:] & skeleton[1:, 1:]
    assert not blocks.any()
    paths = trace(skeleton)
    assert sum(len(path) for path in paths) == pytest.approx(skeleton.sum(), abs=4)


class TestNothingToSearchFor:
    @pytest.mark.parametrize(
        "strokes",
        [[], [[]], [[[5, 5]]], [[[5, 5], [5, 5]]], [[[0, 0], [float("nan"), 1]]],
         [[[0, 0], [float("inf"), 1]]],
         [[0, 1, 2]], [[[1, 2, 3], [4, 5, 6]]], "abc", 5, None, [["a", "b"]], [[[0, 0], [1e300, 5]]],
         [[[10**400, 0], [1, 1]]], [[[k, k % 7] for k in range(300_000)]]],
    )  # fmt: skip
    def test_strokes(self, strokes: object) -> None:
        with pytest.raises(SketchseekError):
            Sketch.from_strokes(strokes)  # type: ignore[arg-type]

    @pytest.mark.parametrize(
        "text",
        ["{}", "[]", '{"strokes": 5}', '{"drawing": [[1]]}', "[" * 5000, "{", '{"strokes": [[[1, null]]]}'],
    )
    def test_json(self, text: str) -> None:
        with pytest.raises(SketchseekError):
            Sketch.load(text.encode())

    @pytest.mark.parametrize(
        "text",
        [
            "[" + "{}," * 2_000_000 + "{}]",
            "[" + "[]," * 2_000_000 + "[]]",
            "[[" + "[1.25,2.5]," * 1_000_000 + "[1,2]]]",
            json.dumps([[[0, 0], [1, k]] for k in range(30_000)]),
            json.dumps([[[k, k % 7] for k in range(210_000)]]),
        ],
        ids=lambda text: text[:12],
    )
    def test_more_than_a_drawing_in_json(self, text: str) -> None:
        data = text.encode()
        tracemalloc.start()
        try:
            with pytest.raises(SketchseekError, match="20,000 strokes with 200,000 points are the most"):
                Sketch.load(data)
            assert tracemalloc.get_traced_memory()[1] < 100 * 2**20
        finally:
            tracemalloc.stop()

    @pytest.mark.parametrize("level", [0, 128, 255])
    def test_blank(self, level: int) -> None:
        with pytest.raises(SketchseekError, match="blank"):
            Sketch.from_bitmap(np.full((200, 300, 3), level, np.uint8))

    def test_transparent(self) -> None:
        with pytest.raises(SketchseekError, match="blank"):
            Sketch.from_bitmap(np.zeros((200, 300, 4), np.uint8))

    def test_dot(self) -> None:
        pixels = np.full((300, 300), 255, np.uint8)
        cv2.circle(pixels, (80, 120), 4, 0, -1)
        with pytest.raises(SketchseekError, match="dot"):
            Sketch.from_bitmap(pixels)

    def test_scribble(self) -> None:
        x = np.tile([0.0, 400.0], 150)
        strokes = [np.stack([x, np.arange(300) * 1.3], axis=1)]
        with pytest.raises(SketchseekError, match="scribble"):
            Sketch.from_strokes(strokes)
        with pytest.raises(SketchseekError):
            Sketch.from_bitmap(np.random.default_rng(0).integers(0, 256, (300, 300, 3)).astype(np.uint8))


def test_what_the_outline_hides_weighs_less() -> None:
    """A square in a square: the inner one weighs less; an open side shows it."""
    square = np.array([[0, 0], [100, 0], [100, 100], [0, 100], [0, 0]], float)
    both = Sketch.from_strokes([square, square * 0.4 + 30]).points
    outer = np.abs(np.stack([both.x, both.y])).max(axis=0) > 199
    assert (both.weight[outer] == 1).all()
    assert (both.weight[~outer] == np.float32(INSIDE)).all()
    opened = Sketch.from_strokes([square[:4], square * 0.4 + 30]).points  # no left side
    left = np.abs(opened.x + 80) < 1
    assert (opened.weight[left & (np.abs(opened.y) < 79)] == 1).all()


def test_no_points_have_no_outline() -> None:
    empty = Sketch.from_strokes([[[0, 0], [1, 1]]]).points
    nothing = type(empty)(*(np.zeros(0, np.float32),) * 4, 400.0, 400.0)
    assert len(weighed(nothing)) == 0


@pytest.mark.parametrize("share", [0.017, 0.027, 0.04])
def test_thick_lines_are_followed_as_the_pen_went(share: float) -> None:
    strokes = [*mug(), np.array([[20.0, 20], [60, 60]]), np.array([[60.0, 20], [20, 60]])]
    thick = Sketch.from_bitmap(as_pixels(strokes, 300 * share, 400))
    assert likeness(Sketch.from_strokes(strokes), thick) > 0.98


def test_lines_that_run_together_are_still_two() -> None:
    """An arrow head: the wedge between its lines is full of ink, and the tip is where the pen was."""
    arrow = [np.array([[30.0, 270], [270, 30]]), np.array([[270.0, 130], [270, 30], [170, 30]])]
    assert likeness(Sketch.from_strokes(arrow), Sketch.from_bitmap(as_pixels(arrow, 24, 400))) > 0.93


def test_a_dot_is_a_small_circle() -> None:
    pixels = np.full((300, 300), 255, np.uint8)
    cv2.rectangle(pixels, (40, 40), (260, 260), 0, 16)
    cv2.circle(pixels, (150, 150), 20, 0, -1)
    points = Sketch.from_bitmap(pixels).points
    inside = np.hypot(points.x, points.y) < 100
    np.testing.assert_allclose(np.hypot(points.x, points.y)[inside], 20 * 400 / 220, rtol=0.1)


def test_of_a_long_file_with_a_drawing_on_each_line_the_first_is_taken() -> None:
    line = json.dumps({"drawing": [[[0, 100, 100, 0, 0], [0, 0, 50, 50, 0]]]}) + "\n"
    data = line.encode() * (9 * 2**20 // len(line))
    sketch = Sketch.load(data)
    assert len(sketch.strokes) == 1
    assert sketch.points.height == pytest.approx(200)


def test_a_drawing_of_very_many_points_is_kept_with_fewer() -> None:
    t = np.linspace(0, 1, 150_000)
    spiral = np.stack([t * np.cos(90 * t), t * np.sin(90 * t)], axis=1)
    much, little = Sketch.from_strokes([spiral]), Sketch.from_strokes([spiral[::15]])
    assert sum(map(len, much.strokes)) <= 20_000
    assert likeness(much, little) > 0.999


def test_curves_of_an_svg_become_no_more_points_than_a_drawing_may_have() -> None:
    random = np.random.default_rng(0)
    ends = " ".join(f"C{a} {b} {c} {d} {e} {f}" for a, b, c, d, e, f in random.integers(0, 400, (4000, 6)))
    text = f'<svg xmlns="http://www.w3.org/2000/svg" fill="none" stroke="red"><path d="M0 0{ends}"/></svg>'
    lines = svg_strokes(text.encode(), "it")
    assert lines is not None
    assert 4000 < sum(map(len, lines)) <= 200_000
