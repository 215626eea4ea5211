"""Each idea of the glossary has one name, and the file that the glossary gives for it is about it."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROW = re.compile(r"^\| \*\*.+\|$", re.MULTILINE)
ROWS = [
    [cell.strip() for cell in row.strip("|").split("|")]
    for row in ROW.findall((ROOT / "docs" / "reference" / "glossary.md").read_text(encoding="utf-8"))
]


def test_every_word_stands_there_once() -> None:
    words = Counter(word.lower() for row in ROWS for word in re.findall(r"\*\*(.+?)\*\*", row[0]))
    assert len(words) > 80
    assert max(words.values()) == 1


@pytest.mark.parametrize("row", ROWS, ids=lambda row: re.sub(r"\W+", "-", row[0]).strip("-"))
def test_its_file_is_there_and_its_symbol_is_in_the_mathematics(row: list[str]) -> None:
    assert (ROOT / row[-1].strip("`")).is_file()
    if len(row) == 4:
        mathematics = (ROOT / "docs" / "explanation" / "mathematics.md").read_text(encoding="utf-8")
        for label in re.findall(
            r"\b(?:[a-z]+_[a-z0-9_]+|setsim|cossim|inferr|emk|imgrepre|vectrans|tripol1)\b", row[1]
        ):
            assert label in mathematics.replace("\\_", "_")
