"""Gram matrices of exact and approximated kernels on contours, under bounds that the docs explain."""

import math
import os
from pathlib import Path

import numpy as np
import pytest

from sketchseek.kernels import RBF, Periodic, set_similarity
from sketchseek.maps import MatchKernel, orientation_map, spatial_map

SIGMAS = (0.12, 0.16, 0.20)
DATA = Path(os.environ.get("SKETCHSEEK_DATA", Path(__file__).parents[3] / "shared" / "data"))


def curves():
    """Closed curves in a frame of pi: (x, y, doubled angle of the normal) and weight."""
    rng = np.random.default_rng(0)
    t = np.linspace(0, 2 * math.pi, 300, endpoint=False)
    sets = []
    for _ in range(6):
        a = rng.normal(size=(3, 2)) / [[1], [2], [3]]
        radius = 1 + 0.25 * sum(
            a[j, 0] * np.cos((j + 2) * t) + a[j, 1] * np.sin((j + 2) * t) for j in range(3)
        )
        x, y = radius * np.cos(t), radius * np.sin(t) * rng.uniform(0.4, 1)
        scale = 1.5 / max(np.abs(x).max(), np.abs(y).max())
        angle = np.arctan2(-np.gradient(y), np.gradient(x))
        sets.append((np.stack([x * scale, y * scale, 2 * angle], axis=1), rng.uniform(0.2, 1, len(t))))
    return sets


def real_contours():
    """Edges of six photographs and the points of three drawings, 400 of each, in the maps' units."""
    if not (DATA / "sysu" / "photos").is_dir():
        pytest.skip(f"no real contours: {DATA} is not there (SKETCHSEEK_DATA says where)")
    from sketchseek.contours import FRAME, Sketch, picture_contours
    from sketchseek.contours.detectors import get_detector

    canny = get_detector("canny")
    photos = sorted((DATA / "sysu" / "photos").rglob("*.jpg"))[::80][:6]
    drawings = sorted((DATA / "sysu" / "sketches").rglob("*.png"))[::30][:3]
    found = [picture_contours(photo, canny).points for photo in photos]
    found += [Sketch.load(drawing).points for drawing in drawings]
    assert len(found) == 9
    rng = np.random.default_rng(0)
    sets = []
    for points in found:
        some = rng.choice(len(points), min(400, len(points)), replace=False)
        unit = math.pi / FRAME
        columns = [points.x[some] * unit, points.y[some] * unit, 2 * points.angle[some]]
        sets.append((np.stack(columns, axis=1).astype(np.float64), points.weight[some].astype(np.float64)))
    return sets


@pytest.fixture(scope="module", params=[curves, real_contours])
def truth(request):
    """The sets, and for each sigma their Gram matrix by the double sum."""
    sets = request.param()
    angle = Periodic(RBF(0.8), 2 * math.pi)
    tables = []
    for sigma in SIGMAS:
        table = np.zeros((len(sets), len(sets)))
        for i, (P, p) in enumerate(sets):
            for j, (Q, q) in enumerate(sets[: i + 1]):
                kernels = [RBF(sigma), RBF(sigma), angle]
                table[i, j] = table[j, i] = set_similarity(P, Q, kernels, p_weights=p, q_weights=q)
        tables.append(table)
    return sets, tables


# Of the cosines, for sigma .12, .16, .20: largest mean and largest single difference, and smallest
# correlation. Measured on nine real sets of contours and six curves, with a margin of a tenth or more.
BOUNDS = {
    (5, 2): [(0.11, 0.21, 0.80), (0.080, 0.140, 0.92), (0.056, 0.101, 0.97)],
    (6, 3): [(0.057, 0.11, 0.97), (0.030, 0.054, 0.99), (0.016, 0.030, 0.998)],
    (8, 3): [(0.029, 0.049, 0.98), (0.0135, 0.020, 0.997), (0.0070, 0.0131, 0.999)],
}


@pytest.mark.parametrize("sizes", BOUNDS)
def test_gram_matrices_agree(truth, sizes):
    sets, tables = truth
    match = MatchKernel([spatial_map(sizes[0])] * 2 + [orientation_map(sizes[1], 0.8)])
    vectors = np.stack([match.describe(*s) for s in sets])
    totals = np.array([weights.sum() for _, weights in sets])
    off = np.triu_indices(len(sets), 1)
    for i, (table, (mean, worst, correlation)) in enumerate(zip(tables, BOUNDS[sizes], strict=True)):
        kernel = (i, i, 0)
        # Every pair of points is within this of the truth, and so is the mean over pairs: a theorem.
        spatial, angular = match.maps[0].errors()[i], match.maps[2].errors()[0]
        means = match.similarity(vectors, vectors, kernel, "cardinality")
        difference = np.abs(means - table / np.outer(totals, totals))
        assert difference.max() <= (1 + spatial) ** 2 * (1 + angular) - 1
        # The cosines, by which pictures are ranked.
        cosines = match.similarity(vectors, vectors, kernel)
        exact = table / np.sqrt(np.outer(np.diag(table), np.diag(table)))
        difference = np.abs(cosines - exact)[off]
        assert difference.mean() <= mean
        assert difference.max() <= worst
        assert np.corrcoef(cosines[off], exact[off])[0, 1] >= correlation
