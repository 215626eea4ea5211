"""The maps as scikit-learn estimators, and the words they use for wrong input."""

import math
import os
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from sketchseek.kernels import RBF
from sketchseek.maps import HarmonicMap, JointMap, LowDimensionalMap, MatchKernel, orientation_map

MAPS = [JointMap, HarmonicMap, LowDimensionalMap]


def test_check_estimator_runs_every_check():
    # One of the checks runs only where SciPy was told to support other arrays before it was imported.
    code = """
from sklearn.utils.estimator_checks import check_estimator
from sketchseek.maps import HarmonicMap, JointMap, LowDimensionalMap
from sketchseek.kernels import RBF
for estimator in JointMap(), HarmonicMap(), LowDimensionalMap(RBF(0.2), n_frequencies=3):
    results = check_estimator(estimator, on_fail=None, on_skip=None)
    for r in results:
        if r["status"] != "passed":
            print(type(estimator).__name__, r["check_name"], r["status"], r["exception"])
    print(type(estimator).__name__, "passed", sum(r["status"] == "passed" for r in results), len(results))
"""
    environment = os.environ | {"SCIPY_ARRAY_API": "1", "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    assert [line[0] for line in lines] == [m.__name__ for m in MAPS], done.stdout
    for _, status, passed, total in lines:
        assert status == "passed"
        assert passed == total
        assert int(total) >= 40  # 47 in scikit-learn 1.9


class Table(np.ndarray):
    """Stands for a table of pandas or polars: numbers, and what the columns are called."""

    columns: list[str]

    @classmethod
    def of(cls, values, columns=None, schema=None, index=None, orient=None):
        made = np.asarray(values).view(cls)
        made.columns, made.index, made.iloc = columns or schema, index, None
        return made


@pytest.mark.parametrize("kind", ["pandas", "polars"])
@pytest.mark.parametrize("map_class", MAPS)
def test_tables_come_out_where_they_are_asked_for(map_class, kind, monkeypatch):
    from sklearn.base import clone

    monkeypatch.setitem(sys.modules, kind, SimpleNamespace(DataFrame=Table.of))
    table = Table.of(np.linspace(0, 1, 8).reshape(4, 2), columns=["width", "height"], index=[4, 3, 2, 1])
    made = map_class(n_frequencies=3).fit(table)
    plain = made.transform(table)
    assert type(plain) is np.ndarray
    assert list(made.feature_names_in_) == ["width", "height"]
    names = [f"{x}_{part}" for x in ("width", "height") for part in ("1", "cos1", "sin1", "cos2", "sin2")]
    assert made.get_feature_names_out().tolist() == names
    found = clone(made.set_output(transform=kind)).fit_transform(table)
    assert (found.columns, found.index) == (names, [4, 3, 2, 1] if kind == "pandas" else None)
    np.testing.assert_array_equal(found, plain)
    assert type(made.transform_query(table)) is np.ndarray, "a query has weights of its own"
    assert type(made.set_output(transform="default").transform(table)) is np.ndarray


def test_names_of_columns_are_checked():
    made = JointMap(n_frequencies=2).fit(np.zeros((3, 2)))
    assert made.get_feature_names_out().tolist()[:3] == ["x0_1", "x0_cos1", "x0_sin1"]
    assert made.get_feature_names_out(["a", "b"]).tolist()[3:] == ["b_1", "b_cos1", "b_sin1"]
    with pytest.raises(ValueError, match="input_features should have length"):
        made.get_feature_names_out(["a"])
    with pytest.raises(ValueError, match="polars"):
        made.set_output(transform="excel")
    with pytest.raises(ValueError, match="fit"):
        JointMap().get_feature_names_out()


def test_works_in_a_pipeline_and_a_grid_search():
    from sklearn.linear_model import Ridge
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline

    x = np.linspace(0, 3, 200)[:, None]
    y = np.sin(5 * x[:, 0])
    pipeline = make_pipeline(JointMap(), Ridge(1e-3))
    search = GridSearchCV(pipeline, {"jointmap__n_frequencies": [1, 5]}, cv=3).fit(x, y)
    assert search.best_params_ == {"jointmap__n_frequencies": 5}


def test_not_fitted_without_scikit_learn():
    code = (
        "import sys; sys.modules['sklearn'] = None; del sys.modules['sklearn']\n"
        "from sketchseek.maps import JointMap\n"
        "try: JointMap().transform([[0.0]])\n"
        "except ValueError as error: print(type(error).__name__, error, 'sklearn' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("NotFittedError This JointMap instance is not fitted")
    assert done.stdout.strip().endswith("False")


def test_columns_and_shapes_of_the_contract():
    maps = JointMap(kernels=[RBF(0.12), RBF(0.16), RBF(0.20)], n_frequencies=7).fit()
    x = np.linspace(0, 3, 11)[:, None]
    assert maps.transform(x).shape == maps.transform_query(x, kernel=2).shape == (11, 13)
    w = maps.frequencies_
    expected = [1, np.cos(w[1] * 0.3), np.sin(w[1] * 0.3), np.cos(w[2] * 0.3), np.sin(w[2] * 0.3)]
    np.testing.assert_allclose(maps.transform([[0.3]])[0, :5], expected, atol=1e-15)
    assert maps.signature(np.zeros((2, 3))).shape == (2, 3)


def test_several_columns_are_mapped_one_after_the_other():
    maps = HarmonicMap(RBF(0.5), 3)
    X = np.random.default_rng(0).normal(size=(6, 2))
    both = maps.fit_transform(X)
    alone = [maps.fit().transform(X[:, [j]]) for j in range(2)]
    np.testing.assert_array_equal(both, np.hstack(alone))


def test_parameters_and_repr():
    maps = LowDimensionalMap(RBF(0.2), 3)
    assert maps.get_params() == {"kernels": RBF(0.2), "n_frequencies": 3, "domain": math.pi, "error": "linf"}
    assert maps.set_params(n_frequencies=4).n_frequencies == 4
    assert repr(maps).startswith("LowDimensionalMap(kernels=RBF(sigma=0.2), n_frequencies=4")


FITTED = HarmonicMap([RBF(0.2), RBF(0.3)], 4).fit()
MATCH = MatchKernel([FITTED, orientation_map(2)])


@pytest.mark.parametrize(
    ("call", "names"),
    [
        (lambda: JointMap(n_frequencies=0).fit(), "n_frequencies must"),
        (lambda: JointMap(n_frequencies=2.5).fit(), "n_frequencies must"),
        (lambda: JointMap(n_frequencies=True).fit(), "n_frequencies must"),
        (lambda: JointMap(domain=0.0).fit(), "domain must"),
        (lambda: JointMap(domain=math.nan).fit(), "domain must"),
        (lambda: JointMap(domain="pi").fit(), "domain must"),
        (lambda: JointMap(kernels=[]).fit(), "kernels must"),
        (lambda: JointMap(kernels=[0.12]).fit(), "kernels must"),
        (lambda: JointMap(kernels=None).fit(), "kernels must"),
        (lambda: HarmonicMap(weighting="cosine").fit(), "weighting must"),
        (lambda: LowDimensionalMap(error="l2").fit(), "error must"),
        (lambda: JointMap().fit([[math.nan]]), "X must be finite, it contains NaN"),
        (lambda: FITTED.transform([[math.inf]]), "X must be finite"),
        (lambda: FITTED.transform([0.1, 0.2]), r"X must be 2D with shape \(n, 1\)"),
        (lambda: FITTED.transform(np.empty((0, 1))), "X has 0 sample"),
        (lambda: FITTED.transform([[0.1, 0.2]]), "X has 2 features"),
        (lambda: FITTED.transform([["a"]]), "X must be an array of numbers"),
        (lambda: FITTED.transform_query([[0.1]], kernel=2), "kernel must be an index from 0 to 1"),
        (lambda: FITTED.transform_query([[0.1]], kernel=-1), "kernel must be an index from 0 to 1"),
        (lambda: FITTED.signature(0.1, kernel="wide"), "kernel must be a callable"),
        (lambda: FITTED.signature(math.nan), "d must be finite"),
        (lambda: JointMap().signature(0.1), "not fitted"),
        (lambda: FITTED.set_params(sigma=1), "Invalid parameter 'sigma'"),
        (lambda: MatchKernel([]), "maps must"),
        (lambda: MatchKernel([RBF(0.1)]), "maps must"),
        (lambda: MatchKernel([JointMap()]), "not fitted"),
        (lambda: MATCH.describe([]), "points must have shape"),
        (lambda: MATCH.describe(np.empty((0, 2))), "points must have at least one"),
        (lambda: MATCH.describe([[0.0, math.nan]]), "points must be finite"),
        (lambda: MATCH.describe([[0.0, 0.0]], weights=[1, 1]), "weights must have shape"),
        (lambda: MATCH.norm(np.zeros(20)), r"V must have shape \(\.\.\., 21\)"),
        (
            lambda: MATCH.similarity(np.zeros(21), np.zeros(21), kernel=1),
            "kernel must be an index from 0 to 0",
        ),
        (lambda: MATCH.similarity(np.zeros(21), np.zeros(21), kernel=(0, 0, 0)), "kernel must be one choice"),
        (lambda: MATCH.similarity(np.zeros(21), np.zeros(21), normalization="l2"), "normalization must"),
        (lambda: MATCH.translate(np.zeros(21), {2: 0.1}), "dimensions must be from 0 to 1"),
        (lambda: MATCH.scores(np.zeros((2, 21)), np.zeros(21), {0: [0.1]}), r"V must have shape \(21,\)"),
        (lambda: MATCH.scores(np.zeros(21), np.zeros(21), {0: [math.nan]}), "offsets must be finite"),
    ],
)
def test_bad_input_is_named(call, names):
    with pytest.raises(ValueError, match=names):
        call()


def test_sparse_input_is_refused_in_words():
    from scipy.sparse import csr_matrix

    with pytest.raises(TypeError, match="sparse input is not supported"):
        FITTED.transform(csr_matrix([[1.0]]))
