"""What an answer says of itself where something is said: of words alone, and of a drawing with words."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from test_words import described, meant

from sketchseek.search.core import ABSENT, LIKELY
from sketchseek.search.options import Options
from sketchseek.search.rescoring import Answer
from sketchseek.search.search import search
from sketchseek.search.words_confidence import (
    JUDGED,
    OF_HIT,
    OF_SEARCH,
    Drawn,
    Model,
    Said,
    beside,
    falling,
    judge,
    models,
)

K = 20


@pytest.fixture(scope="module")
def photographs():
    """Of 60 pictures the first six are umbrellas."""
    return described([(meant("umbrella"), 6)], 54)


def said(z: float, cosine: float, called: float = 0.0, understood: float = 1.0) -> Said:
    """Of a search whose first hit stands out so far, and the others less and less."""
    fewer = np.linspace(1, 0.2, K)
    names = np.where(np.arange(K) == 0, called, 0.0)
    return Said(z * fewer, z * fewer, names, 500, understood, True, 0.0, cosine * fewer, cosine * fewer, 0.0)


def answer(present: float, verdict: str) -> Answer:
    """By a drawing alone."""
    confidence = present * np.linspace(0.6, 0.1, K)
    none = np.zeros(0)
    return Answer(
        present, present * 0.8, verdict, np.arange(K), none, confidence, none, None, np.zeros((0, 13))
    )


def test_the_models_ship_and_are_json():
    assert set(models()) == {"alone", "beside a drawing"}
    for model in models().values():
        assert Model.from_json(model.to_json()) == model
        assert len(model.present.weights) == len(model.first_page.weights) == len(OF_SEARCH)
        assert len(model.hit.weights) == len(OF_HIT) + len(OF_SEARCH)


@pytest.mark.parametrize("drawn", [None, Drawn(0.0, 0.0, np.zeros(K))], ids=["alone", "beside"])
def test_pictures_that_look_like_it_make_it_likely(drawn):
    model = models()["alone" if drawn is None else "beside a drawing"]
    some, none = judge(model, said(6, 0.5), drawn), judge(model, said(2, 0.05), drawn)
    assert some[0] > 0.6 > 0.4 > none[0]
    assert some[1] > none[1]
    assert some[2][0] > none[2][0]


def test_what_is_called_so_counts_where_nothing_is_seen():
    present, first_page, confidence = judge(models()["alone"], said(3, 0, called=1, understood=0))
    assert present == first_page == confidence[0] > 0.5
    assert (np.diff(confidence) < 0).all()
    assert judge(models()["alone"], said(0, 0, understood=0))[0] < 0.05


def test_a_name_lifts_what_is_seen():
    unseen, called = (judge(models()["alone"], said(3, 0, called=named)) for named in (0, 1))
    assert unseen[0] < 0.5 < called[0]
    assert unseen[2][0] < called[2][0]


def test_names_alone_leave_what_a_drawing_says():
    by_drawing = answer(0.4, "Closest matches")
    assert beside(by_drawing, said(3, 0, called=1, understood=0), 0) is by_drawing


def test_words_lift_an_answer_above_missing_and_lower_none_to_it():
    missing = answer(0.05, ABSENT)
    assert beside(missing, said(7, 0.6), 0).verdict == LIKELY
    assert beside(missing, replace(said(0, 0), is_class=False), 0).present < 0.2
    assert beside(answer(0.3, "Closest matches"), said(1, 0.0), 0).verdict != ABSENT


def test_confidence_falls_from_hit_to_hit():
    rng = np.random.default_rng(2)
    for k in (1, 5, JUDGED, 3 * JUDGED):
        log_odds = rng.normal(0, 2, k)
        fallen = falling(log_odds)
        assert (np.diff(fallen) < 0).all()
        assert fallen[:JUDGED].mean() == pytest.approx(log_odds[:JUDGED].mean())
    steep = -np.arange(10.0)
    assert falling(steep) == pytest.approx(steep)


@pytest.mark.parametrize("drawn", [True, False])
def test_what_is_said_does_not_depend_on_how_much_is_asked_for(photographs, drawn):
    state, drawings = photographs
    sketch = drawings[20] if drawn else None
    few, many = (search(state, sketch, Options(k, words="umbrella")) for k in (3, 25))
    assert few.present == many.present
    assert few.first_page == many.first_page
    assert [hit.confidence for hit in few] == [hit.confidence for hit in many][:3]
    assert all(a.confidence > b.confidence for a, b in pairwise(many))


def test_the_words_of_a_drawing_are_heard(photographs):
    state, drawings = photographs
    by_drawing = search(state, drawings[3], Options(5))
    right, wrong = (search(state, drawings[3], Options(5, words=word)) for word in ("umbrella", "airplane"))
    assert right.present > wrong.present
    assert right.present != by_drawing.present
