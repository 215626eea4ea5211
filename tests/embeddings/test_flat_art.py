import cv2
import numpy as np
import pytest

from sketchseek.embeddings.flat_art import is_flat_art
from sketchseek.evaluation.datasets import data_folder
from sketchseek.sources.picture import load_picture


def icon(side=200):
    """A face of three colours, its lines soft."""
    pixels = np.full((side, side, 3), 255, np.uint8)
    for centre, radius, colour in (((0.5, 0.5), 0.4, (250, 220, 40)), ((0.35, 0.4), 0.05, (0, 0, 0))):
        place = tuple(round(side * c * 16) for c in centre)
        cv2.circle(pixels, place, round(side * radius * 16), colour, -1, cv2.LINE_AA, 4)
    return pixels


def shaded(side=200):
    """A ball on white ground, as a photograph has it: a smooth shade and a little noise."""
    y, x = np.mgrid[:side, :side] / side - 0.5
    inside = np.hypot(x, y) < 0.4
    light = np.stack([200 - 180 * (x + y + 0.5), 180 - 150 * y, 90 + 120 * x], axis=2)
    noise = np.random.default_rng(0).normal(0, 3, light.shape)
    return np.where(inside[..., None], (light + noise).clip(0, 255), 255).astype(np.uint8)


@pytest.mark.parametrize("side", [24, 200, 1000])
def test_icons_are_flat_and_photographs_are_not(side):
    assert is_flat_art(icon(side))
    assert not is_flat_art(shaded(max(side, 100)))


def test_an_icon_in_a_good_jpeg_is_still_flat():
    coded = cv2.imencode(".jpg", icon(), [cv2.IMWRITE_JPEG_QUALITY, 95])[1]
    assert is_flat_art(cv2.imdecode(coded, cv2.IMREAD_COLOR))


def test_noise_is_not_flat():
    rng = np.random.default_rng(0)
    assert not is_flat_art(rng.integers(0, 256, (90, 120, 3), dtype=np.uint8))
    assert not is_flat_art(rng.integers(0, 2, (90, 120, 1), dtype=np.uint8).repeat(3, 2) * np.uint8(255))


def test_blank_pictures_are_flat():
    assert is_flat_art(np.full((40, 50, 3), 7, np.uint8))
    assert is_flat_art(np.full((1, 1, 3), 255, np.uint8))


def test_real_pictures():
    data = data_folder()
    if data is None:
        pytest.skip("no development data: see SKETCHSEEK_DATA")
    photos = sorted((data / "sysu" / "photos").rglob("*.jpg"))[::10]
    emoji = sorted((data / "doodles" / "photos").glob("*.svg"))[::50]
    assert np.mean([is_flat_art(load_picture(p).pixels) for p in photos]) < 0.05
    assert np.mean([is_flat_art(load_picture(p).pixels) for p in emoji]) > 0.95
