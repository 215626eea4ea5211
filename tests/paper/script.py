"""The paper's search from its equations alone, in NumPy: no polynomial of ours, no engine, no ranking.

A drawing is moved by moving its points and describing them again, for every translation; so nothing here
relies on the identities that make the search fast. Only the maps' frequencies and weights are taken from
the package: their optimality is another test's matter.

A picture and a drawing are arrays of points (n, 4): x, y in pixels from the centre, the angle, the weight.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

PIXEL = np.pi / 400  # "400 pixels = pi", as in figure 2
SCALES = (1.0, 0.8, 0.6)
SIGMAS = (0.20, 0.16, 0.12)  # "smaller scale is matched with narrower kernel"
MAX_TRANSLATION, STEP = 80.0, 20.0


@dataclass(frozen=True)
class Maps:
    """frequencies (n,), weights of three kernels (3, n) in the order of SCALES; the same for the angle."""

    frequencies: np.ndarray
    weights: np.ndarray
    angle_frequencies: np.ndarray
    angle_weights: np.ndarray


def psi(t: np.ndarray, frequencies: np.ndarray) -> np.ndarray:
    """Equation map_asym2, the database side: (n,) -> (n, 2 m - 1)."""
    columns = [np.ones_like(t)]
    for w in frequencies[1:]:
        columns += [np.cos(w * t), np.sin(w * t)]
    return np.stack(columns, axis=1)


def per_component(weights: np.ndarray) -> np.ndarray:
    """A frequency's weight belongs to its cosine and its sine."""
    return np.concatenate([weights[:1], np.repeat(weights[1:], 2)])


def descriptor(points: np.ndarray, maps: Maps) -> np.ndarray:
    """Equation imgrepre: (Dx, Dx, Do)."""
    x, y, angle, weight = points.T
    return np.einsum(
        "p,pi,pj,pk->ijk",
        weight,
        psi(x * PIXEL, maps.frequencies),
        psi(y * PIXEL, maps.frequencies),
        psi(2 * angle, maps.angle_frequencies),
    )


def inner(a: np.ndarray, b: np.ndarray, kernel: int, maps: Maps) -> float:
    """Of two descriptors, under one of the kernels: the query side carries the weights (map_asym1)."""
    s, o = per_component(maps.weights[kernel]), per_component(maps.angle_weights)
    return float(np.einsum("ijk,ijk,i,j,k->", a, b, s, s, o))


def inner_projected(a: np.ndarray, b: np.ndarray, kernel: int, maps: Maps) -> float:
    """Of two projected descriptors (Dx, Do)."""
    s, o = per_component(maps.weights[kernel]), per_component(maps.angle_weights)
    return float(np.einsum("ik,ik,i,k->", a, b, s, o))


def moved(points: np.ndarray, dx: float, dy: float) -> np.ndarray:
    return points + np.array([dx, dy, 0.0, 0.0])


def poses(drawing: np.ndarray) -> list[tuple[int, bool, np.ndarray]]:
    """Three scales, each also mirrored: the number of the kernel, whether mirrored, the points."""
    found = []
    for kernel, scale in enumerate(SCALES):
        small = drawing * np.array([scale, scale, 1.0, 1.0])
        found.append((kernel, False, small))
        found.append((kernel, True, small * np.array([-1.0, 1.0, -1.0, 1.0])))
    return found


def translations(kernel: int) -> np.ndarray:
    """ "The maximum translation (step) is increased (decreased) linearly according to the relative scale"."""
    scale = SCALES[kernel]
    count = int(MAX_TRANSLATION / scale / (STEP * scale) + 1e-9)
    return np.arange(-count, count + 1) * STEP * scale


class Picture:
    """A picture's descriptor, its projections, and their norms under each kernel."""

    def __init__(self, points: np.ndarray, maps: Maps) -> None:
        self.V = descriptor(points, maps)
        self.Vx, self.Vy = self.V[:, 0, :], self.V[0, :, :]
        kernels = range(len(SCALES))
        self.norm = [np.sqrt(inner(self.V, self.V, k, maps)) for k in kernels]
        self.norm_x = [np.sqrt(inner_projected(self.Vx, self.Vx, k, maps)) for k in kernels]
        self.norm_y = [np.sqrt(inner_projected(self.Vy, self.Vy, k, maps)) for k in kernels]


class Search:
    """Everything about one drawing that does not depend on a picture."""

    def __init__(self, drawing: np.ndarray, maps: Maps) -> None:
        self.drawing, self.maps, self.poses = drawing, maps, poses(drawing)
        self.grids = []
        for kernel, _, points in self.poses:
            d = translations(kernel)
            at = [[descriptor(moved(points, a, b), maps) for b in d] for a in d]
            still = descriptor(points, maps)
            self.grids.append(
                {
                    "V": np.array(at),  # (T, T, Dx, Dx, Do): moved by dx, then by dy
                    "still": still,
                    "norm": np.sqrt(inner(still, still, kernel, maps)),
                    "norm_x": np.sqrt(inner_projected(still[:, 0], still[:, 0], kernel, maps)),
                    "norm_y": np.sqrt(inner_projected(still[0], still[0], kernel, maps)),
                }
            )

    def surface(self, picture: Picture, i: int) -> np.ndarray:
        """The cosine for every translation of one pose: (T, T)."""
        kernel, grid = self.poses[i][0], self.grids[i]
        s, o = per_component(self.maps.weights[kernel]), per_component(self.maps.angle_weights)
        values = np.einsum("abijk,ijk,i,j,k->ab", grid["V"], picture.V, s, s, o, optimize=True)
        return values / (grid["norm"] * picture.norm[kernel])

    def projected(self, picture: Picture, i: int) -> tuple[np.ndarray, np.ndarray]:
        """The projections' cosines for every translation along their axis: two of (T,)."""
        kernel, grid = self.poses[i][0], self.grids[i]
        s, o = per_component(self.maps.weights[kernel]), per_component(self.maps.angle_weights)
        middle = len(grid["V"]) // 2
        along_x = np.einsum("aik,ik,i,k->a", grid["V"][:, middle, :, 0], picture.Vx, s, o)
        along_y = np.einsum("aik,ik,i,k->a", grid["V"][middle, :, 0], picture.Vy, s, o)
        return (
            along_x / (grid["norm_x"] * picture.norm_x[kernel]),
            along_y / (grid["norm_y"] * picture.norm_y[kernel]),
        )

    def signs(self, picture: Picture, i: int) -> np.ndarray:
        """The polynomial with coefficients and variables replaced by their signs: (T, T)."""
        kernel = self.poses[i][0]
        s, o = per_component(self.maps.weights[kernel]), per_component(self.maps.angle_weights)
        weighted = self.grids[i]["still"] * np.einsum("i,j,k->ijk", s, s, o)
        n = len(self.maps.frequencies)
        size = 2 * n - 1
        B = np.zeros((size, size))
        for a in range(n):
            for b in range(n):
                q = quarter(weighted, a, b)
                v = quarter(picture.V, a, b)
                # A shift turns (cos, sin) into (cos cos - sin sin, sin cos + cos sin), along x and along y.
                for name_x, turn_x in TURNS.items():
                    for name_y, turn_y in TURNS.items():
                        turned = np.einsum("xX,yY,XYk->xyk", turn_x, turn_y, q)
                        row, column = index(a, name_x), index(b, name_y)
                        if row is not None and column is not None:
                            B[row, column] = np.sum(turned * v)
        d = translations(kernel) * PIXEL
        variables = psi(d, self.maps.frequencies)
        sign = lambda m: np.where(m < 0, -1.0, 1.0)  # noqa: E731
        return sign(variables) @ sign(B) @ sign(variables).T


TURNS = {"cos": np.eye(2), "sin": np.array([[0.0, -1.0], [1.0, 0.0]])}


def index(frequency: int, name: str) -> int | None:
    """Where cos or sin of a frequency lies among [1, cos w1, sin w1, ...]; sin 0 nowhere."""
    if frequency == 0:
        return 0 if name == "cos" else None
    return 2 * frequency - 1 + (name == "sin")


def quarter(V: np.ndarray, a: int, b: int) -> np.ndarray:
    """(2, 2, Do): the components of two frequencies, cosine and sine along x and along y."""
    out = np.zeros((2, 2, V.shape[2]))
    for i, name_x in enumerate(("cos", "sin")):
        for j, name_y in enumerate(("cos", "sin")):
            row, column = index(a, name_x), index(b, name_y)
            if row is not None and column is not None:
                out[i, j] = V[row, column]
    return out


# The methods by their names: each gives pictures, best first, and the scores of those that were scored in 2D.


def exact(search: Search, picture: Picture) -> float:
    return max(float(search.surface(picture, i).max()) for i in range(len(search.poses)))


def by_projection(search: Search, picture: Picture) -> tuple[float, float]:
    both = [search.projected(picture, i) for i in range(len(search.poses))]
    return max(float(x.max()) for x, _ in both), max(float(y.max()) for _, y in both)


def near(surface: np.ndarray, x: int, y: int, neighborhood: int) -> float:
    r = neighborhood // 2
    return float(surface[max(0, x - r) : x + r + 1, max(0, y - r) : y + r + 1].max())


def local(search: Search, picture: Picture, neighborhood: int) -> float:
    """ "Acts only on the best scale found by the ranking method", around the projections' translations."""
    both = [search.projected(picture, i) for i in range(len(search.poses))]
    best = int(np.argmax([x.max() + y.max() for x, y in both]))
    x, y = (int(p.argmax()) for p in both[best])
    return near(search.surface(picture, best), x, y, neighborhood)


def binary(search: Search, picture: Picture, neighborhood: int) -> float:
    """ "To efficiently search over all translations and scales, while we finally refine the translation"."""
    maps = [search.signs(picture, i) for i in range(len(search.poses))]
    best = int(np.argmax([m.max() for m in maps]))
    x, y = np.unravel_index(int(maps[best].argmax()), maps[best].shape)
    return near(search.surface(picture, best), int(x), int(y), neighborhood)


def ranked(
    search: Search,
    pictures: list[Picture],
    method: str,
    rerank: str = "exact",
    shortlist: int = 0,
    neighborhood: int = 3,
) -> tuple[list[int], np.ndarray]:
    """Pictures, best first, and the score that ordered each of those that were re-ranked."""
    if method == "exhaustive":
        scores = np.array([exact(search, p) for p in pictures])
        order = np.argsort(-scores, kind="stable")
        return order.tolist(), scores[order]
    sides = np.array([by_projection(search, p) for p in pictures])
    total = sides.sum(axis=1)
    if method == "dpf":
        x, y = search.drawing[:, 0], search.drawing[:, 1]
        first = sides[:, 0 if x.var() >= y.var() else 1]
        pre = np.argsort(-first, kind="stable")[: 3 * shortlist]
        inside = np.isin(np.arange(len(pictures)), pre)
        total = np.where(inside, total, first - 4)
    order = np.argsort(-total, kind="stable")
    again = {"exact": lambda s, p, _: exact(s, p), "local": local, "binary": binary}[rerank]
    scores = np.array([again(search, pictures[i], neighborhood) for i in order[:shortlist]])
    best = np.argsort(-scores, kind="stable")
    return [*order[:shortlist][best].tolist(), *order[shortlist:].tolist()], scores[best]
