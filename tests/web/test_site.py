"""What `publish` writes: everything that a browser needs, and nothing of the machine it was made on."""

from __future__ import annotations

import gzip
import io
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from sketchseek import Index
from sketchseek.cli import main
from sketchseek.embeddings.icons import DIMENSION, weights
from sketchseek.errors import SketchseekError
from sketchseek.sources import Item
from sketchseek.web.parts import distinct, packed, put
from sketchseek.web.publish import ENGINES, MANIFEST, _of_sources, publish
from sketchseek.web.published_names import Label, carried, labelled, published_names, read_labels
from sketchseek.web.republishing import Before

ENGINE = Path(__file__).parents[2] / "src" / "sketchseek" / "web" / "engine"
built = pytest.mark.skipif(
    not all((ENGINE / name).exists() for name in ENGINES), reason="the engine for browsers: `make wasm`"
)


@pytest.fixture(scope="module")
def index(shape_index: Path) -> Index:
    return Index.open(shape_index)


@pytest.fixture(scope="module")
def site(index: Index, tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("published") / "site"
    publish(index, where, title="Shapes & <signs>")
    return where


def unpacked(site: Path, part: dict) -> bytes:
    return gzip.decompress((site / part["file"]).read_bytes())


@built
def test_files(site: Path, index: Index) -> None:
    manifest = json.loads((site / MANIFEST).read_bytes())
    (part,) = manifest["codes"]
    different = np.frombuffer(unpacked(site, part), np.int8).reshape(manifest["dimensions"], -1).T
    n = len(index)
    which = np.frombuffer(unpacked(site, manifest["tables"]), np.int32)[5 * n : 5 * n + manifest["rows"]]
    assert np.array_equal(different[which], index.state.collection.vectors)
    for part in [*manifest["codes"], manifest["tables"], manifest["names"]]:
        assert (site / part["file"]).stat().st_size == part["bytes"]
        assert len(unpacked(site, part)) == part["unpacked"]
    seen = np.frombuffer(unpacked(site, manifest["icons"]["embeddings"]), np.int8).reshape(DIMENSION, -1).T
    assert np.array_equal(seen, index.state.icon_codes)
    assert unpacked(site, manifest["icons"]["network"]) == weights()
    names = json.loads(unpacked(site, manifest["names"]))
    assert sorted(names["picture"]) == sorted(Path(index.state.path(i)).name for i in range(len(index)))
    page = (site / "index.html").read_text()
    assert "<title>Shapes &amp; &lt;signs&gt;</title>" in page
    assert "wasm-unsafe-eval" in page
    assert (site / "page" / "api.js").read_text() != (site / "page" / "main.js").read_text()
    assert "../collection.js" in (site / "page" / "api.js").read_text()


@built
def test_thumbnails_are_whole_and_say_nothing_else(site: Path, index: Index) -> None:
    manifest = json.loads((site / MANIFEST).read_bytes())
    everything = b"".join((site / part["file"]).read_bytes() for part in manifest["thumbnails"])
    own = index.thumbnails([index.state.id(i) for i in range(len(index))])
    assert everything == b"".join(own)
    for one in own:
        with Image.open(io.BytesIO(one)) as image:
            assert image.format == "WEBP"
            assert not image.getexif()
            assert "exif" not in image.info
            assert "icc_profile" not in image.info


@built
def test_no_path_of_this_machine(site: Path, index: Index, shape_pictures: Path) -> None:
    for file in site.rglob("*"):
        if not file.is_file():
            continue
        data = file.read_bytes()
        contents = [data, gzip.decompress(data)] if data[:2] == b"\x1f\x8b" else [data]
        for content in contents:
            for path in (shape_pictures, Path(index.location), Path.home(), Path.cwd()):
                assert str(path).encode() not in content, file
            assert b"/home/" not in content, file


@built
def test_again_into_the_same_folder(index: Index, tmp_path: Path, pictures: Path) -> None:
    other = Index.create(tmp_path / "index", detector="canny", expansion=False)
    other.add([pictures])
    publish(index, tmp_path / "site")
    before = set((tmp_path / "site" / "data").iterdir())
    publish(other, tmp_path / "site")
    after = set((tmp_path / "site" / "data").iterdir())
    same = {file for file in before & after if not file.name.startswith("network-")}
    assert not same, "nothing of the first is left but what the icon network has learned"
    assert {len(json.loads((tmp_path / "site" / MANIFEST).read_bytes())["codes"])} == {1}
    publish(other, tmp_path / "site")
    assert set((tmp_path / "site" / "data").iterdir()) == after


@built
def test_a_folder_of_something_else(index: Index, tmp_path: Path) -> None:
    (tmp_path / "precious.txt").write_text("mine")
    with pytest.raises(SketchseekError, match="holds files"):
        publish(index, tmp_path)
    assert list(tmp_path.iterdir()) == [tmp_path / "precious.txt"]
    with pytest.raises(SketchseekError, match="not a folder"):
        publish(index, tmp_path / "precious.txt")


@built
def test_nothing_to_publish(tmp_path: Path) -> None:
    with pytest.raises(SketchseekError, match="no pictures"):
        publish(Index.create(tmp_path / "index", expansion=False), tmp_path / "site")
    assert not (tmp_path / "site").exists()


def test_names() -> None:
    paths = [
        "/home/anna/icons/outline/home.svg",
        "/home/anna/icons/filled/home.svg",
        "/srv/cat.png",
        "/dog.png",
    ]
    assert published_names(paths) == ["outline/home.svg", "filled/home.svg", "cat.png", "dog.png"]
    assert published_names(["/a/x/y.png", "/b/x/y.png"]) == ["a/x/y.png", "b/x/y.png"]
    assert published_names(["/y.png", "/b/y.png"]) == ["y.png", "b/y.png"]
    assert published_names(["s3://bucket/a.png"]) == ["a.png"]
    assert published_names([]) == []


@pytest.mark.parametrize(
    "text",
    [
        "picture,title,link\nhome.svg,Home,https://example.org/home\ncat,A cat,cats.html\n",
        '[{"picture": "home.svg", "title": "Home", "link": "https://example.org/home"},'
        ' {"picture": "cat", "title": "A cat", "link": "cats.html"}]',
        '{"home.svg": {"title": "Home", "link": "https://example.org/home"},'
        ' "cat": {"title": "A cat", "link": "cats.html"}}',
    ],
)
def test_labels(tmp_path: Path, text: str) -> None:
    (tmp_path / "links").write_text(text)
    labels = read_labels(tmp_path / "links")
    paths = ["/x/home.svg", "/x/cat.png", "/x/dog.png"]
    found, unused = labelled(paths, published_names(paths), labels)
    home, cat = Label("Home", "https://example.org/home"), Label("A cat", "cats.html")
    assert found == [home, cat, Label()]
    assert unused == []


def test_a_title_of_several_lines(tmp_path: Path) -> None:
    (tmp_path / "links").write_text('picture,title\na,"two\nlines, and \x85 what is none"\n', "utf-8")
    assert read_labels(tmp_path / "links") == {"a": Label("two\nlines, and \x85 what is none")}


@pytest.mark.parametrize(("content", "reason"), [(None, "No such file or directory."), (b"\xff", "UTF-8.")])
def test_links_that_cannot_be_read(tmp_path: Path, content: bytes | None, reason: str) -> None:
    if content is not None:
        (tmp_path / "links").write_bytes(content)
    with pytest.raises(SketchseekError, match=rf"links cannot be read: [^\[]*{reason}$"):
        read_labels(tmp_path / "links")


@pytest.mark.parametrize(
    "text",
    ["picture,link\nx,javascript:alert(1)\n", "title,link\na,b\n", "[1]", '[{"picture": 3}]', "{"],
)
def test_labels_that_are_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "links").write_text(text)
    with pytest.raises(SketchseekError, match="links"):
        read_labels(tmp_path / "links")


def test_distinct() -> None:
    codes = np.array([[1, 2], [3, 4], [1, 2], [-1, 0], [3, 4]], np.int8)
    different, which = distinct(codes)
    assert different.tolist() == [[1, 2], [3, 4], [-1, 0]]
    assert which.tolist() == [0, 1, 0, 2, 1]


def test_packed() -> None:
    runs = list(packed([b"aa", b"bb", b"c" * 9, b"d", b"e"], room=4))
    assert runs == [[b"aa", b"bb"], [b"c" * 9], [b"d", b"e"]]
    assert list(packed([])) == []


@built
def test_command(
    shape_index: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "links.csv").write_text("picture,title\nstar.jpg,A star\nnobody.jpg,Nobody\n")
    site = str(tmp_path / "site")
    assert (
        main(["publish", site, "--index", str(shape_index), "--links", str(tmp_path / "links.csv"), "--json"])
        == 0
    )
    out, err = capsys.readouterr()
    report = json.loads(out)
    assert (report["pictures"], report["labelled"], report["unused_labels"]) == (8, 1, ["nobody.jpg"])
    assert "nobody.jpg" in err
    assert main(["publish", site, "--index", str(shape_index)]) == 0
    out, err = capsys.readouterr()
    assert "8 pictures" in out
    assert "compact" not in err
    monkeypatch.setattr("sketchseek.cli.publish.HEAVY", 1)
    assert main(["publish", site, "--index", str(shape_index)]) == 0
    assert "--preset compact" in capsys.readouterr().err
    shutil.rmtree(site)
    assert main(["publish", site, "--index", str(tmp_path / "nowhere")]) == 1
    assert "Traceback" not in capsys.readouterr().err
    for nowhere in (tmp_path / "links.csv" / "site", tmp_path / ("x" * 300)):
        assert main(["publish", str(nowhere), "--index", str(shape_index)]) == 1
        assert "Cannot write" in capsys.readouterr().err


def test_a_file_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "index.html").mkdir()
    with pytest.raises(SketchseekError, match="Cannot write"):
        put(tmp_path / "index.html", b"<!doctype html>")
    assert [path.name for path in tmp_path.iterdir()] == ["index.html"]


@built
def test_the_demo_as_a_site(shape_index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sketchseek.demo.demo_index", lambda published: Index.open(shape_index))
    assert main(["demo", "--publish", str(tmp_path / "site")]) == 0
    assert "Photographs and icons" in (tmp_path / "site" / "index.html").read_text()


def test_publishing_again_keeps_the_title_unless_another_is_given(index: Index, tmp_path: Path) -> None:
    def titles() -> tuple[str, bool]:
        page = (tmp_path / "site" / "index.html").read_text("utf-8")
        return json.loads((tmp_path / "site" / "index.json").read_bytes())["title"], "<title>Mine" in page

    publish(index, tmp_path / "site", title="Mine")
    publish(index, tmp_path / "site")
    assert titles() == ("Mine", True)
    publish(index, tmp_path / "site", title="")
    assert titles() == ("", False)


@pytest.fixture
def icons(tmp_path: Path) -> Index:
    """Two icons."""
    folder = tmp_path / "icons" / "outline"
    folder.mkdir(parents=True)
    for name, path in (("heart", "M4 4h16v16z"), ("house", "M4 20V8l8-6 8 6v12z")):
        (folder / f"{name}.svg").write_text(svg(path))
    index = Index.create(tmp_path / "index", detector="canny", preset="compact", expansion=False)
    index.add([folder.parent])
    return index


def svg(path: str) -> str:
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" fill="none" stroke="black">'
        f'<path d="{path}"/></svg>'
    )


def shown_of(site: Path) -> dict[str, tuple[str, str]]:
    """The title and the link of each picture of a site."""
    names = json.loads(unpacked(site, json.loads((site / MANIFEST).read_bytes())["names"]))
    empty = [""] * len(names["picture"])
    told = zip(names.get("title", empty), names.get("link", empty), strict=True)
    return dict(zip(names["picture"], told, strict=True))


@built
def test_publishing_again_keeps_what_was_given_before(
    icons: Index, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    site, links, index = tmp_path / "site", tmp_path / "links.csv", ["--index", str(icons.location)]
    links.write_text(
        "picture,title,link,set,licence\nheart,A heart,https://example.org/heart,mine,MIT\nhouse,A house,,,\n"
    )

    def manifest() -> dict:
        return json.loads((site / MANIFEST).read_bytes())

    def names() -> bytes:
        return unpacked(site, manifest()["names"])

    assert main(["publish", str(site), *index, "--links", str(links), "--originals"]) == 0
    before, copies = names(), manifest()["originals"]
    assert copies
    assert "before" not in capsys.readouterr().err
    assert main(["publish", str(site), *index]) == 0
    assert (names(), manifest()["originals"]) == (before, copies)
    err = capsys.readouterr().err
    assert "2 pictures keep the titles, links, sets and licences" in err
    assert "--no-originals" in err
    links.write_text("picture,title\nheart,Love\n")
    report = publish(icons, site, links=links, originals=False)
    assert report["kept"] == {"labels": 0, "originals": False}
    assert (shown_of(site), manifest()["originals"]) == (
        {"heart.svg": ("Love", ""), "house.svg": ("", "")},
        None,
    )
    links.write_text("picture,title\n")  # takes them away
    publish(icons, site, links=links)
    assert set(shown_of(site).values()) == {("", "")}


@built
def test_kept_titles_follow_a_name_that_gets_a_folder(icons: Index, tmp_path: Path) -> None:
    site, links = tmp_path / "site", tmp_path / "links.json"
    links.write_text('{"heart": {"title": "A heart"}, "house": {"title": "A house"}}')
    publish(icons, site, links=links)
    (tmp_path / "icons" / "heart.svg").write_text(svg("M4 4h16v16h-16z"))
    (tmp_path / "icons" / "outline" / "house.svg").unlink()
    icons.add([tmp_path / "icons"])
    report = publish(icons, site)
    assert shown_of(site) == {"outline/heart.svg": ("", ""), "icons/heart.svg": ("", "")}, (
        "either may be meant"
    )
    assert sorted(report["unused_labels"]) == ["heart.svg", "house.svg"]


def test_carried() -> None:
    one, two = Label("One"), Label("Two")
    assert carried(["a.svg", "b.svg"], {"a.svg": one, "c.svg": two}) == ([one, Label()], ["c.svg"])
    assert carried(["x/a.svg"], {"a.svg": one}) == ([one], [])
    assert carried(["a.svg"], {"x/a.svg": one}) == ([one], [])
    assert carried(["a.svg"], {"x/a.svg": one, "y/a.svg": two}) == ([Label()], ["x/a.svg", "y/a.svg"])
    assert carried(["y/a.svg"], {"x/a.svg": one}) == ([Label()], ["x/a.svg"])


@built
def test_earlier_titles_that_cannot_be_read_are_not_lost_silently(icons: Index, tmp_path: Path) -> None:
    site, links = tmp_path / "site", tmp_path / "links.csv"
    links.write_text("picture,title\nheart,A heart\n")
    publish(icons, site, links=links)
    (site / json.loads((site / MANIFEST).read_bytes())["names"]["file"]).write_bytes(b"no gzip")
    with pytest.raises(SketchseekError, match="--links FILE"):
        publish(icons, site)
    publish(icons, site, links=links)
    assert shown_of(site)["heart.svg"] == ("A heart", "")


def test_what_a_source_said_is_asked_again_and_what_was_given_is_kept(tmp_path: Path) -> None:
    columns = {
        "picture": ["a", "b", "c"],
        "title": ["The museum's", "Mine", ""],
        "link": ["https://museum.example/a", "", ""],
        "set": {"values": ["etchings"], "of": [-1, 0, -1]},
        "from_source": [1, 0, 1],
    }
    (tmp_path / "names.bin").write_bytes(gzip.compress(json.dumps(columns).encode()))
    assert Before(tmp_path, {"names": {"file": "names.bin"}}).labels() == {"b": Label("Mine", set="etchings")}
    items = {
        "a": Item(name="a", reference="", stamp="", label="A new title", link="https://museum.example/a")
    }
    paths, given = ["https://museum.example/m.json#a", "https://museum.example/m.json#b"], Label("Mine")
    assert _of_sources(items, paths, [Label(), given]) == (
        [Label("A new title", "https://museum.example/a"), given],
        [1, 0],
    )
    columns["link"] = ["", "javascript:alert(1)", ""]
    (tmp_path / "names.bin").write_bytes(gzip.compress(json.dumps(columns).encode()))
    with pytest.raises(SketchseekError, match="cannot be read"):
        Before(tmp_path, {"names": {"file": "names.bin"}}).labels()
