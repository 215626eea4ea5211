"""How well a drawing's tokens meet those of a picture, as its definition says it: slowly, in NumPy."""

import numpy as np

from sketchseek.embeddings.tokens import ACROSS, CELLS, SCALES

BLOCK = 64


def rows_and_columns(codes):
    """How many a picture's tokens are, each way."""
    return int(codes[-1 - BLOCK]), int(codes[-1])


def decoded(codes, centroids):
    """A picture's tokens (rows, columns, d), as its codes (bytes,) have them."""
    rows, columns = rows_and_columns(codes)
    parts = len(centroids)
    pairs = codes.reshape(-1, parts // 2, BLOCK).transpose(0, 2, 1).reshape(-1, parts // 2)
    each = np.stack([pairs & 15, pairs >> 4], axis=-1).reshape(-1, parts)[: rows * columns]
    if len(each) == CELLS:
        each[-1] = each[-2]  # two bytes of the last say how many there are
    tokens = centroids[np.arange(parts), each]
    return tokens.reshape(rows, columns, -1)


def best_around(cosines):
    """Each cell's best of 3 x 3: (rows, columns) -> (rows, columns)."""
    padded = np.pad(cosines, 1, constant_values=-np.inf)
    rows, columns = cosines.shape
    around = [padded[y : y + rows, x : x + columns] for y in range(3) for x in range(3)]
    return np.max(around, axis=0)


def firsts(cells, drawn):
    """Where the first row of a drawing may lie: it lies inside the picture, or the picture inside it."""
    return range(min(0, cells - drawn), max(0, cells - drawn) + 1)


def meet(tokens, weights, places, picture):
    """The best weighted mean of cosines over sizes, mirror and places.

    tokens : (p, d). weights : (p,). places : (p, 2), row and column on the drawing's page. picture : (rows,
    columns, d).

    Returns
    -------
    score, (mirrored, scale, row, column)
    """
    rows, columns, _ = picture.shape
    near = np.array([best_around(picture @ token) for token in tokens])
    best, where = -np.inf, None
    for mirrored in (False, True):
        page = np.stack([places[:, 0], ACROSS - 1 - places[:, 1]], axis=1) if mirrored else places
        for scale in SCALES:
            at = np.rint(scale * page).astype(int)
            at -= at.min(axis=0)
            height, width = at.max(axis=0) + 1
            for row in firsts(rows, height):
                for column in firsts(columns, width):
                    y, x = row + at[:, 0], column + at[:, 1]
                    inside = (y >= 0) & (y < rows) & (x >= 0) & (x < columns)
                    met = near[
                        inside, y[inside], x[inside]
                    ]  # outside there is nothing, which is like nothing
                    score = float(weights[inside] @ met) / float(weights.sum())
                    if score > best:
                        best, where = score, (mirrored, scale, row, column)
    return best, where
