"""Two kernels: drawings translated, and each against every row, the maximum taken before it is written.

A row's score in a pose is the maximum over translations t of <q_t, v>, times 1 / |v|. Mirroring the drawing
changes the sign of some components (`mirror_signs`), so that with v and q_t split into those that keep their
sign (even) and those that don't (odd) both mirrors cost one: max(e + o, e - o) = e + |o|.

Triton's interpreter runs both on the CPU.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def translate(  # noqa: PLR0917
    drawings,  # (drawings, poses, D + 1) float32, the last 0
    parts,  # (4, tiles * TILE, LENGTH) float32: what each of four components is multiplied with
    sources,  # (4, LENGTH) int32: which components
    pose,  # (tiles,) int32
    columns,  # (drawings, tiles, PARTS, TILE, LENGTH): int8, float16 or float32
    scale,  # (drawings, tiles) float32
    error,  # (drawings, tiles) float32
    poses,
    dimensions,
    tiles,
    PEAK: tl.constexpr,
    PARTS: tl.constexpr,
    TILE: tl.constexpr,
    LENGTH: tl.constexpr,
    STEP: tl.constexpr,
    EXACT: tl.constexpr,
):
    """A tile of columns: a drawing in one pose, moved by each of some translations.

    The largest number of a tile is stored as PEAK, in steps of `scale`; its columns are off by `error` at
    most, which is 0 if they are EXACT.
    """
    operand: tl.constexpr = columns.dtype.element_ty
    tile, drawing = tl.program_id(0), tl.program_id(1)
    which = drawing * tiles + tile
    its = drawings + (drawing * poses + tl.load(pose + tile)) * (dimensions + 1)
    place = tl.arange(0, TILE)[:, None] * LENGTH + tl.arange(0, STEP)[None, :]
    here = parts + tile * (TILE * LENGTH) + place
    there = columns + which.to(tl.int64) * (PARTS * TILE * LENGTH) + place
    each = tiles * (TILE * LENGTH)
    highest = tl.zeros((TILE, STEP), tl.float32)
    for k in range(0, LENGTH, STEP):
        highest = tl.maximum(highest, tl.abs(_moved(here + k, its, sources + k, each, LENGTH, STEP)))
    step = tl.maximum(tl.max(highest) / PEAK, 1e-30)
    squares = tl.zeros((TILE,), tl.float32)
    for k in range(0, LENGTH, STEP):
        rest = _moved(here + k, its, sources + k, each, LENGTH, STEP) / step
        for part in tl.static_range(PARTS):
            stored = (tl.floor(rest + 0.5) if operand == tl.int8 else rest).to(operand)
            tl.store(there + part * (TILE * LENGTH) + k, stored)
            rest = rest - stored.to(tl.float32)
        squares += tl.sum(rest * rest, axis=1)
    tl.store(scale + which, step)
    tl.store(error + which, 0.0 if EXACT else step * tl.sqrt(tl.max(squares)))


@triton.jit
def _moved(parts, drawing, sources, each, LENGTH: tl.constexpr, STEP: tl.constexpr):  # noqa: PLR0917
    """STEP components of a tile's columns, not rounded."""
    k = tl.arange(0, STEP)
    moved = tl.load(parts) * tl.load(drawing + tl.load(sources + k))[None, :]
    for j in tl.static_range(1, 4):
        moved += tl.load(parts + j * each) * tl.load(drawing + tl.load(sources + j * LENGTH + k))[None, :]
    return moved


# One compilation for all: counts may be anything, and a batch's later queries begin anywhere.
@triton.jit(do_not_specialize=["scale", "error", "out", "n", "stride", "queries", "tiles"])
def best_alignment(  # noqa: PLR0917
    rows,  # (padded, 2 * HALF): even components, zeros, odd ones, zeros
    inverse,  # (kernels, padded) float32: 1 / norm, 0 for a blank picture
    length,  # (padded,) float32: the row's own length, what the columns' error is multiplied with
    columns,  # (queries, tiles, PARTS, BLOCK_N, 2 * HALF): translated drawings, in the type they multiply in
    kernel,  # (tiles,) int32: whose norm a tile's maximum is divided by
    scale,  # (queries, tiles) float32: the step of a tile's columns
    error,  # (queries, tiles) float32: a tile's longest error; 0 asks for scores, not for bounds
    out,  # (queries, n) float32, `stride` apart
    n,
    stride,
    padded,
    queries,
    tiles,
    HALF: tl.constexpr,
    DEPTH: tl.constexpr,
    PARTS: tl.constexpr,
    MIRROR: tl.constexpr,
    UNROLLED: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    """out[q, i]: what row i scores at most in the drawing q's best pose, mirror and translation.

    n : rows whose results are written; padded, a multiple of BLOCK_M, how many there are.
    PARTS : columns may be sums of that many narrower numbers. UNROLLED : whether a long row's products are.
    """
    operand: tl.constexpr = columns.dtype.element_ty
    sums: tl.constexpr = tl.int32 if operand == tl.int8 else tl.float32
    i = tl.program_id(0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    depth = tl.arange(0, DEPTH)
    here = rows + i[:, None] * (2 * HALF) + depth[None, :]
    there = columns + tl.arange(0, BLOCK_N)[:, None] * (2 * HALF) + depth[None, :]
    line = out + i
    its_length = tl.load(length + i)
    if HALF == DEPTH:  # a short row stays where it is multiplied
        even_rows = tl.load(here).to(operand)
        odd_rows = tl.load(here + HALF).to(operand)
    for q in range(queries):
        best = tl.full((BLOCK_M,), float("-inf"), tl.float32)
        for tile in range(tiles):
            at = there + (q * tiles + tile) * (PARTS * BLOCK_N * 2 * HALF)
            even = tl.zeros((BLOCK_M, BLOCK_N), sums)
            odd = tl.zeros((BLOCK_M, BLOCK_N), sums)
            if HALF == DEPTH:
                even, odd = _multiply(even_rows, odd_rows, at, even, odd, HALF, PARTS, MIRROR, BLOCK_N)
            elif UNROLLED:
                for d in tl.static_range(0, HALF, DEPTH):
                    even_rows = tl.load(here + d).to(operand)
                    odd_rows = tl.load(here + HALF + d).to(operand)
                    even, odd = _multiply(
                        even_rows, odd_rows, at + d, even, odd, HALF, PARTS, MIRROR, BLOCK_N
                    )
            else:
                for d in range(0, HALF, DEPTH):
                    even_rows = tl.load(here + d).to(operand)
                    odd_rows = tl.load(here + HALF + d).to(operand)
                    even, odd = _multiply(
                        even_rows, odd_rows, at + d, even, odd, HALF, PARTS, MIRROR, BLOCK_N
                    )
            if MIRROR:
                even = even + tl.abs(odd)
            highest = tl.max(even, axis=1).to(tl.float32)
            which = q * tiles + tile
            most = highest * tl.load(scale + which) + its_length * tl.load(error + which)
            norm = tl.load(inverse + tl.load(kernel + tile).to(tl.int64) * padded + i)
            best = tl.maximum(best, most * norm)
        tl.store(line, best, mask=i < n)
        line += stride


@triton.jit
def _multiply(  # noqa: PLR0917
    even_rows,
    odd_rows,
    columns,
    even,
    odd,
    HALF: tl.constexpr,
    PARTS: tl.constexpr,
    MIRROR: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    """The sums with some components' products added; all in `even` where mirrors don't matter."""
    for part in tl.static_range(PARTS):
        its = columns + part * (BLOCK_N * 2 * HALF)
        even_columns = tl.trans(tl.load(its))
        odd_columns = tl.trans(tl.load(its + HALF))
        even = tl.dot(even_rows, even_columns, even, input_precision="ieee", out_dtype=even.dtype)
        if MIRROR:
            odd = tl.dot(odd_rows, odd_columns, odd, input_precision="ieee", out_dtype=even.dtype)
        else:
            even = tl.dot(odd_rows, odd_columns, even, input_precision="ieee", out_dtype=even.dtype)
    return even, odd
