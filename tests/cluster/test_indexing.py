"""Pictures read on the nodes of a cluster."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from comparing import NODE, eventually

from sketchseek import Index, Sketch, SketchseekError

pytest.importorskip("ray", reason="ray is not installed: make test-cluster installs it")

from sketchseek.cluster import workers as workers_module
from sketchseek.cluster.workers import ClusterWorkers


@pytest.fixture
def many(tmp_path: Path, draw_picture: Any) -> Path:
    """A folder of 120 pictures and one file that is none."""
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(120):
        draw_picture(folder / f"{number:03}.png", number)
    (folder / "broken.png").write_bytes(b"\x89PNG but no more")
    return folder


def names(index: Index) -> list[str]:
    return sorted(os.path.basename(index.state.path(number)) for number in range(len(index)))


def encoders() -> list[Any]:
    """The actors that read pictures, of those that run."""
    import ray

    state = ray._private.state.actors().values()
    return [a for a in state if a["ActorClassName"] == "ReaderActor" and a["State"] == "ALIVE"]


def test_the_index_is_that_of_one_machine(cluster: Any, many: Path, tmp_path: Path) -> None:
    alone, index = (
        Index.create(tmp_path / name, detector="canny", expansion=False) for name in ("alone", "spread")
    )
    expected = alone.add(many)
    report = index.add(many, workers=ClusterWorkers)
    assert (report.added, report.failed) == (120, expected.failed)
    assert names(index) == names(alone)
    sketch = Sketch.from_strokes([[[0, 0], [50, 0], [50, 40], [0, 40], [0, 0]]])
    found, right = (
        {hit.picture: (hit.score, hit.box) for hit in i.search(sketch, 120)} for i in (index, alone)
    )
    assert found == right
    again = index.add(many, workers=ClusterWorkers)
    assert (again.added, again.unchanged) == (0, 120)


def test_a_node_is_killed_half_way(
    cluster: Any, many: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import ray

    monkeypatch.setattr(workers_module, "BATCH", 3)
    index = Index.create(tmp_path / "index", detector="canny", expansion=False)
    list_local = ray.get_runtime_context().get_node_id()
    killed = []

    def elsewhere() -> list[Any]:
        return [a for a in encoders() if a["Address"]["NodeID"] != list_local]

    def progress(done: int, total: int) -> None:
        if done >= 20 and not killed:
            assert eventually(lambda: bool(elsewhere()), 120)
            victim = elsewhere()[0]
            killed.append(victim["Pid"])
            node = next(n for n in cluster.worker_nodes if n.node_id == victim["Address"]["NodeID"])
            os.kill(victim["Pid"], signal.SIGKILL)
            cluster.remove_node(node, allow_graceful=False)

    report = index.add(many, workers=ClusterWorkers, progress=progress)
    cluster.add_node(**NODE)
    assert killed
    assert report.added == 120
    assert len(report.failed) == 1, "only the one that is no picture"
    assert names(index) == [f"{number:03}.png" for number in range(120)], "each once"


def test_commits_hold_up_reading(
    cluster: Any, many: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[int] = []
    real = ClusterWorkers._give

    def counted(self: ClusterWorkers) -> None:
        real(self)
        given.append(sum(len(batch) for worker in self._workers for batch in worker.batches.values()))

    monkeypatch.setattr(ClusterWorkers, "_give", counted)
    index = Index.create(tmp_path / "index", detector="canny", expansion=False)
    report = index.add(many, workers=ClusterWorkers, progress=lambda *_: time.sleep(0.002))
    assert report.added == 120
    assert max(given) <= 3 * workers_module.AHEAD * workers_module.BATCH


def test_a_picture_that_ends_its_reader_is_given_up(
    cluster: Any, many: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Fragile(workers_module.ReaderActor):
        def read(self, tasks: Any) -> Any:
            for task in tasks:
                if task.path.endswith(b"007.png"):
                    os._exit(9)
            return super().read(tasks)

    monkeypatch.setattr(workers_module, "ReaderActor", Fragile)
    index = Index.create(tmp_path / "index", detector="canny", expansion=False)
    report = index.add(many, workers=ClusterWorkers)
    assert report.added == 119
    assert {os.path.basename(name) for name, _ in report.failed} == {"007.png", "broken.png"}


def test_a_folder_that_a_node_does_not_see_is_said(
    cluster: Any, many: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Elsewhere(workers_module.ReaderActor):
        def read(self, tasks: Any) -> Any:
            from sketchseek.indexing.worker import Gone

            return [Gone(task.path) for task in tasks]

    monkeypatch.setattr(workers_module, "ReaderActor", Elsewhere)
    index = Index.create(tmp_path / "index", detector="canny", expansion=False)
    with pytest.raises(SketchseekError, match="does not see"):
        index.add(many, workers=ClusterWorkers)
    assert len(index) == 0


def test_an_interrupted_run_keeps_what_is_finished(cluster: Any, many: Path, tmp_path: Path) -> None:
    index = Index.create(tmp_path / "index", detector="canny", expansion=False)

    finished: list[int] = []

    def progress(done: int, total: int) -> None:
        if done and not finished:
            finished.append(done)
            signal.raise_signal(signal.SIGINT)

    assert threading.current_thread() is threading.main_thread()
    report = index.add(many, workers=ClusterWorkers, progress=progress)
    assert report.interrupted or report.added == 120, "unless all was finished before anybody could interrupt"
    assert len(index) >= finished[0] - 1, "all but the one that is no picture"
    assert index.add(many, workers=ClusterWorkers).added == 120 - len(set(names(index))) or len(index) == 120
    assert eventually(lambda: not encoders(), 30)
