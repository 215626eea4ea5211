"""What the paper says, and whether it holds here: each of its sentences that compares, at its own settings.

A sentence says that one way is better than another, or that two are as good. On each set it is measured as
the mean difference of average precision over the same drawings, in points, with its 95% interval (bootstrap
over drawings); the verdict follows from the interval alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sketchseek.evaluation.ablations import Curves
from sketchseek.evaluation.metrics import bootstrap_interval
from sketchseek.evaluation.scoring import QueryScore

Scores = Sequence[QueryScore]
NEGLIGIBLE = 0.1
"""Points of mAP that nobody would call a difference, however sure it is."""


@dataclass(frozen=True)
class Measured:
    """Curves of one set at the paper's settings, and what is beside them."""

    frequencies: Curves
    shortlists: Curves
    rerankings: Curves
    one_byte: Scores
    float32: Scores
    expanded: Scores


@dataclass(frozen=True)
class Statement:
    """A sentence of the paper, the two ways it compares, and whether it calls the first better or as good."""

    words: str
    first: Callable[[Measured], Scores]
    second: Callable[[Measured], Scores]
    better: bool = True


@dataclass(frozen=True)
class Verdict:
    """The difference of the two ways in points of mAP, its interval, and what follows."""

    difference: float
    low: float
    high: float
    verdict: str

    def __str__(self) -> str:
        return f"{self.difference:+.1f} [{self.low:+.1f}, {self.high:+.1f}] {self.verdict}"


def judge(statement: Statement, measured: Measured) -> Verdict:
    """Whether a sentence holds on one set."""
    pairs = zip(statement.first(measured), statement.second(measured), strict=True)
    change = np.array([100 * (a.average_precision - b.average_precision) for a, b in pairs])
    low, high = bootstrap_interval(change.tolist())
    if statement.better:
        verdict = "holds" if low > 0 else "**contradicted**" if high < 0 else "not shown"
    else:
        alike = low <= 0 <= high or max(abs(low), abs(high)) < NEGLIGIBLE
        verdict = "holds" if alike else "**contradicted**"
    return Verdict(float(change.mean()), low, high, verdict)


def at(curves: str, name: str, quantity: float) -> Callable[[Measured], Scores]:
    """The scores of one point of a curve."""

    def scores(m: Measured) -> Scores:
        points = getattr(m, curves)[name]
        return next(s for x, s in points if abs(x - quantity) < 1e-9)

    return scores


SMALL = 1 / 15  # 1,000 of the paper's 15,000
THIRD = 1 / 3
SUM, DPF = "Sx + Sy", "dpf, higher variance first"
JOINT, HARMONIC = "joint, 2 of orientation", "harmonic, 2 of orientation"
APART = "one descriptor a kernel, 2 of orientation"

STATEMENTS = (
    Statement(
        "“The Fourier-based method significantly harms the performance for low number of frequencies”: "
        "joint over harmonic, (5,2)",
        at("frequencies", JOINT, 5),
        at("frequencies", HARMONIC, 5),
    ),
    Statement(
        "“The two methods have roughly the same performance for large number of frequencies”: (10,2)",
        at("frequencies", JOINT, 10),
        at("frequencies", HARMONIC, 10),
        better=False,
    ),
    Statement(
        "Asymmetric maps find more than a harmonic descriptor for each kernel, (5,2): P@5 45.8 against 25.8",
        at("frequencies", JOINT, 5),
        at("frequencies", APART, 5),
    ),
    Statement(
        "“Ranking with sum of Sy and Sx appears significantly better than their individual use”: over Sx, "
        "1/15 re-ranked",
        at("shortlists", SUM, SMALL),
        at("shortlists", "Sx", SMALL),
    ),
    Statement("the same over Sy", at("shortlists", SUM, SMALL), at("shortlists", "Sy", SMALL)),
    Statement(
        "“Re-ranking one third of the database already recovers the performance loss”: all over a third",
        at("shortlists", SUM, 1.0),
        at("shortlists", SUM, THIRD),
        better=False,
    ),
    Statement(
        "`dpf`: “the drop is insignificant”: the sum over `dpf`, 1/15 re-ranked",
        at("shortlists", SUM, SMALL),
        at("shortlists", DPF, SMALL),
        better=False,
    ),
    Statement(
        "The axis of higher variance first beats always x, 1/15 re-ranked",
        at("shortlists", DPF, SMALL),
        at("shortlists", "dpf, x first", SMALL),
    ),
    Statement(
        "the same beats always y", at("shortlists", DPF, SMALL), at("shortlists", "dpf, y first", SMALL)
    ),
    Statement(
        "“In some cases the ranking method misses the correct scale”: binary over local, 3 x 3, refined "
        "at every scale",
        at("rerankings", "binary-all", 3),
        at("rerankings", "local", 3),
    ),
    Statement(
        "the same, signs refined at the one scale that they favour",
        at("rerankings", "binary", 3),
        at("rerankings", "local", 3),
    ),
    Statement(
        "“Encoding each vector component with 1 byte instead of single precision does not harm”: float32 "
        "over one byte",
        lambda m: m.float32,
        lambda m: m.one_byte,
        better=False,
    ),
    Statement(
        "“Query expansion significantly improves the results”: the mean of three over shape alone, "
        "with our network",
        lambda m: m.expanded,
        lambda m: m.one_byte,
    ),
)


def table(measured: dict[str, Measured]) -> str:
    """A row a sentence, a column a set; and how many hold."""
    names = list(measured)
    lines = ["| the paper | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    held = 0
    contradicted = []
    for statement in STATEMENTS:
        verdicts = [judge(statement, m) for m in measured.values()]
        lines.append(f"| {statement.words} | " + " | ".join(map(str, verdicts)) + " |")
        held += all(v.verdict == "holds" for v in verdicts)
        if any("contradicted" in v.verdict for v in verdicts):
            where = [n for n, v in zip(names, verdicts, strict=True) if "contradicted" in v.verdict]
            contradicted.append(f"“{short(statement.words)}” on {', '.join(f'`{n}`' for n in where)}")
    lines += ["", f"{held} of {len(STATEMENTS)} hold on every set."]
    if contradicted:
        lines[-1] += " Contradicted beyond the interval: " + "; ".join(contradicted) + "."
    return "\n".join(lines)


def short(words: str) -> str:
    """The quoted part, or all of it."""
    return words.split("“")[1].split("”", maxsplit=1)[0] if "“" in words else words
