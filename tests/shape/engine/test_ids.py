"""Sets of numbers, as NumPy's own functions have them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sketchseek.shape.engine.ids import distinct, is_among

numbers = st.lists(st.integers(0, 12) | st.integers(-(2**62), 2**62), max_size=20).map(
    lambda those: np.array(those, np.int64)
)


@given(numbers, numbers)
def test_they_say_what_numpy_says(ids, others):
    assert np.array_equal(distinct(ids), np.unique(ids))
    assert np.array_equal(is_among(ids, others), np.isin(ids, others))
    assert np.array_equal(is_among(ids, others.tolist()), np.isin(ids, others))
