"""The icon network: what it is shown, that it tells things apart, and that every build sees the same."""

from itertools import pairwise
from pathlib import Path

import cv2
import numpy as np
import pytest

from sketchseek.embeddings.flat_art import is_flat_art
from sketchseek.embeddings.icons import (
    DIMENSION,
    LONGER,
    SIDE,
    as_stored,
    draw,
    embed_drawing,
    embed_ink,
    embed_picture,
    fit,
    ink_of,
    stored_embedding,
    weights,
)
from sketchseek.shape.engine import _engine

WIDTHS = (2.5, 4.5)  # in which strokes are drawn
GRAPH = Path(__file__).parents[2] / "training" / "icons" / "icons.onnx"

ANGLES = np.linspace(0, 2 * np.pi, 40)
CIRCLE = np.stack([np.cos(ANGLES), np.sin(ANGLES)], axis=1)
SQUARE = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1], [-1, -1]], float)
HOUSE = [
    np.array([[0, 10], [10, 0], [20, 10]], float),
    np.array([[3, 8], [3, 20], [17, 20], [17, 8]], float),
    np.array([[8, 20], [8, 13], [12, 13], [12, 20]], float),
]


def picture(strokes: list[np.ndarray], side: int = 200, width: int = 9) -> np.ndarray:
    """Black strokes on white, drawn with OpenCV."""
    pixels = np.full((side, side, 3), 255, np.uint8)
    points = np.concatenate(strokes)
    scale = 0.7 * side / np.ptp(points, axis=0).max()
    middle = (points.min(axis=0) + points.max(axis=0)) / 2
    lines = [np.round((s - middle) * scale + side / 2).astype(np.int32) for s in strokes]
    cv2.polylines(pixels, lines, False, (0, 0, 0), width, cv2.LINE_AA)
    return pixels


def box(ink: np.ndarray) -> tuple[int, int, int, int]:
    y, x = np.nonzero(ink >= 0.5)
    return x.min(), y.min(), x.max() + 1, y.max() + 1


class TestInk:
    def test_is_the_distance_from_the_ground_whatever_its_colour(self):
        dark = picture([CIRCLE])
        np.testing.assert_allclose(ink_of(dark), ink_of(255 - dark), atol=1e-6)
        np.testing.assert_allclose(ink_of(dark), ink_of(dark[:, :, 0]), atol=1e-6)
        assert ink_of(dark).max() == pytest.approx(1)

    def test_sees_yellow_on_white_and_black_on_yellow(self):
        pixels = np.full((30, 30, 3), 255, np.uint8)
        pixels[5:25, 5:25] = (255, 220, 40)
        pixels[12:18, 12:18] = 0
        ink = ink_of(pixels)
        assert ink[0, 0] == 0
        assert 0.3 < ink[8, 8] < ink[15, 15] - 0.3


class TestFit:
    def test_crops_and_centres(self):
        ink = np.zeros((100, 300), np.float32)
        ink[20:40, 210:250] = 0.6
        small = fit(ink)
        assert small.shape == (SIDE, SIDE)
        assert box(small) == (4, 18, 60, 46)  # 56 x 28 in the middle
        assert small.max() == 1

    def test_is_an_average_of_areas(self):
        chequered = (np.indices((112, 112)).sum(axis=0) % 2).astype(np.float32)
        small = fit(chequered)
        np.testing.assert_allclose(small[4:60, 4:60], 1, atol=1e-6)  # even grey, brought to 1
        assert small[:4].max() == small[:, 60:].max() == 0

    def test_place_and_size_do_not_matter(self):
        ink = ink_of(picture(HOUSE, 400, 18))
        moved = np.pad(ink, ((3, 90), (50, 7)))
        np.testing.assert_allclose(fit(ink), fit(moved), atol=1e-5)
        assert np.abs(fit(ink) - fit(ink_of(picture(HOUSE, 200, 9)))).mean() < 0.04

    @pytest.mark.parametrize("ink", [np.zeros((9, 9)), np.full((9, 9), 0.05), np.zeros((0, 5))])
    def test_nothing_to_see_gives_nothing(self, ink):
        assert not fit(ink.astype(np.float32)).any()


class TestDraw:
    def test_fills_the_frame_as_fit_does(self):
        for width in WIDTHS:
            x0, y0, x1, y1 = box(draw([SQUARE * [2, 1]], width))
            assert abs(x1 - x0 - LONGER) <= 1
            assert abs(x0 + x1 - SIDE) <= 1
            assert abs(y0 + y1 - SIDE) <= 1
            assert abs((y1 - y0) - LONGER / 2) <= 3

    def test_agrees_with_a_picture_of_the_same_strokes(self):
        width = 4.5
        drawn = draw(HOUSE, width)
        side, longer = 640, 448  # `picture` draws at .7
        seen = fit(ink_of(picture(HOUSE, side, round(width / (LONGER - width) * longer))))
        assert np.abs(drawn - seen).mean() < 0.03

    def test_many_points_on_a_line_are_the_line(self):
        along = np.linspace(0, 1, 50)[:, None]
        fine = np.concatenate([a + (b - a) * along for a, b in pairwise(SQUARE)])
        np.testing.assert_allclose(draw([fine], 3), draw([SQUARE], 3), atol=1e-4)

    def test_a_tap_is_a_dot_and_no_stroke_is_nothing(self):
        assert draw([[[5, 5]]], 4).sum() == pytest.approx(np.pi * 4, rel=0.2)
        assert not draw([], 4).any()
        assert not draw([np.zeros((0, 2))], 4).any()

    def test_a_point_that_is_no_number_is_refused(self):
        with pytest.raises(ValueError, match="finite"):
            draw([[[0, 0], [1, np.nan]]], 4)


class TestEmbed:
    def test_has_length_one_and_is_the_same_each_time(self):
        found = embed_drawing(HOUSE)
        assert found.shape == (DIMENSION,)
        assert found.dtype == np.float32
        assert np.linalg.norm(found) == pytest.approx(1, abs=1e-5)
        np.testing.assert_array_equal(found, embed_drawing(HOUSE))

    def test_a_drawing_is_like_its_picture_and_unlike_others(self):
        drawn = {"house": HOUSE, "circle": [CIRCLE], "square": [SQUARE]}
        rows = np.stack([embed_drawing(strokes) for strokes in drawn.values()])
        pictures = np.stack([embed_picture(picture(strokes)) for strokes in drawn.values()])
        likeness = rows @ pictures.T
        assert (np.diag(likeness) > 0.6).all()
        assert (likeness - np.diag(np.full(3, np.inf))).max() < np.diag(likeness).min() - 0.1

    def test_a_mirrored_thing_is_another(self):
        flag = [np.array([[0, 0], [0, 20], [0, 0], [12, 4], [0, 8]], float)]
        mirrored = [flag[0] * [-1, 1]]
        assert embed_drawing(flag) @ embed_drawing(mirrored) < 0.9

    def test_lines_and_areas_of_one_thing_are_alike(self):
        outline = np.full((200, 200), 255, np.uint8)
        heart = np.stack(
            [
                16 * np.sin(ANGLES) ** 3,
                -(13 * np.cos(ANGLES) - 5 * np.cos(2 * ANGLES) - 2 * np.cos(3 * ANGLES) - np.cos(4 * ANGLES)),
            ],
            axis=1,
        )
        area = outline.copy()
        line = [np.round(heart * 5 + 100).astype(np.int32)]
        cv2.polylines(outline, line, True, 0, 9, cv2.LINE_AA)
        cv2.fillPoly(area, line, 0, cv2.LINE_AA)
        square = np.full((200, 200), 255, np.uint8)
        square[40:160, 40:160] = 0
        assert (
            embed_picture(outline) @ embed_picture(area) > embed_picture(area) @ embed_picture(square) + 0.2
        )

    def test_nothing_is_zeros(self):
        assert not embed_picture(np.full((50, 50, 3), 255, np.uint8)).any()
        assert not embed_drawing([]).any()

    def test_many_at_once_are_as_one_at_a_time(self):
        inks = np.stack([draw(HOUSE, 3), np.zeros((SIDE, SIDE), np.float32), draw([CIRCLE], 3)])
        together = embed_ink(inks)
        apart = np.concatenate([embed_ink(ink[None]) for ink in inks])
        np.testing.assert_allclose(together, apart, atol=1e-5)
        assert not together[1].any()


class TestEngine:
    @pytest.mark.skipif(not GRAPH.exists(), reason="training/ is not here")
    @pytest.mark.parametrize("build", _engine.supported_builds())
    def test_every_build_is_the_graph_that_was_trained(self, build):
        onnxruntime = pytest.importorskip("onnxruntime")
        rng = np.random.default_rng(0)
        inks = (rng.random((4, SIDE, SIDE)) * (rng.random((4, SIDE, SIDE)) > 0.7)).astype(np.float32)
        inks = np.concatenate([inks, [draw(HOUSE, 2.5), draw([CIRCLE], 4.5)]])
        session = onnxruntime.InferenceSession(GRAPH, providers=["CPUExecutionProvider"])
        expected = session.run(None, {"ink": inks[:, None]})[0]
        found = _engine.IconNetwork(weights(), build).of_ink(inks).reshape(len(inks), DIMENSION)
        np.testing.assert_allclose(found, expected, atol=1e-5)

    def test_other_weights_are_refused(self):
        for wrong in (b"", weights()[:-1], b"\xff" * len(weights())):
            with pytest.raises(ValueError, match="not the weights"):
                _engine.IconNetwork(wrong, "portable")

    def test_a_drawing_is_seen_in_two_widths(self):
        both = embed_ink(np.stack([draw(HOUSE, width) for width in WIDTHS])).sum(axis=0)
        np.testing.assert_allclose(embed_drawing(HOUSE), both / np.linalg.norm(both), atol=1e-6)

    def test_a_byte_a_number_is_the_same_direction(self):
        seen = embed_drawing(HOUSE)
        stored = as_stored(seen).astype(float)
        assert np.abs(stored).max() == 127
        assert stored @ seen / np.linalg.norm(stored) > 0.9995
        assert not as_stored(np.zeros(DIMENSION, np.float32)).any()

    def test_only_line_art_and_flat_art_are_kept(self):
        noise = np.random.default_rng(0).integers(0, 255, (64, 64, 3)).astype(np.uint8)
        assert not is_flat_art(noise)
        assert stored_embedding(noise, is_line_art=False) == b""
        assert len(stored_embedding(noise, is_line_art=True)) == DIMENSION
        assert len(stored_embedding(picture(HOUSE), is_line_art=False)) == DIMENSION

    def test_a_page_of_text_is_not_one_thing(self):
        page = picture(HOUSE, side=800)
        for line in (*range(60, 160, 20), *range(700, 800, 20)):
            cv2.putText(
                page, "said lever of the claim wherein", (40, line), 0, 0.5, (0, 0, 0), 1, cv2.LINE_AA
            )
        assert stored_embedding(page, is_line_art=True) == b""


class TestResemblance:
    CODES = np.stack([as_stored(embed_drawing(strokes)) for strokes in (HOUSE, [CIRCLE], [SQUARE], [])])

    def test_stands_out_by_deviations(self):
        found = _engine.IconEmbeddings(self.CODES).resemblance(embed_drawing(HOUSE))
        rows = self.CODES[:3].astype(float)
        cosines = rows @ embed_drawing(HOUSE) / np.linalg.norm(rows, axis=1)
        z = (cosines - cosines.mean()) / cosines.std()
        np.testing.assert_allclose(found.at(np.arange(4)), [*z, 0], atol=1e-4)
        assert found.most().tolist() == [0, 1, 2, 3]
        np.testing.assert_array_equal(
            found.part(np.array([3, 0])).at(np.arange(2)), found.at(np.array([3, 0]))
        )
        with pytest.raises(IndexError, match="below n"):
            found.at(np.array([4]))

    def test_has_no_say_among_other_pictures_or_for_nothing(self):
        photographs = np.zeros((4, DIMENSION), np.int8)
        assert not _engine.IconEmbeddings(np.concatenate([self.CODES, photographs])).speak
        assert not _engine.IconEmbeddings(photographs).resemblance(embed_drawing(HOUSE))
        assert not _engine.IconEmbeddings(self.CODES).resemblance(np.zeros(DIMENSION, np.float32))
        assert not _engine.IconEmbeddings(self.CODES[:0]).resemblance(embed_drawing(HOUSE))
