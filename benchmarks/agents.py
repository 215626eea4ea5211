"""An agent draws thirty icons and ten things that are not there: what it finds, and what a call costs.

    python benchmarks/agents.py                # the demo's pictures, by shape and with the network
    python benchmarks/agents.py --icons FOLDER # a folder of icons instead

The drawings are those of tests/agents/drawings.py, written in SVG from descriptions in words.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from mcp import Client

from sketchseek import Index
from sketchseek.agents import agent_server
from sketchseek.demo import chosen
from sketchseek.server.decoding import Decoder
from sketchseek.server.library import Library
from sketchseek.server.limits import Limits

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "agents"))
from drawings import ABSENT, THERE, svg

Answers = list[dict[str, Any]]


async def asked(server: Any, drawings: list[str]) -> tuple[Answers, list[float], list[float]]:
    """Answers, and of each call the milliseconds on the clock and of this process's processor."""
    answers, wall, processor = [], [], []
    async with Client(server) as client:
        await client.call_tool("search", {"svg": svg(drawings[0])})  # from here on it is warm
        for path in drawings:
            began, used = time.perf_counter(), time.process_time()
            answer = await client.call_tool("search", {"svg": svg(path)})
            wall.append(1e3 * (time.perf_counter() - began))
            processor.append(1e3 * (time.process_time() - used))
            answers.append(answer.structured_content)
    return answers, wall, processor


def main() -> None:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--icons", type=Path, help="a folder of icons named as the drawings are")
    given = parser.parse_args()
    pictures = sorted(given.icons.rglob("*.svg")) if given.icons else chosen()
    decoder = Decoder(Limits())
    for expansion in (False, True):
        with tempfile.TemporaryDirectory() as there:
            where = Path(there) / "index"
            Index.create(where, expansion=expansion).add(pictures)
            drawings = [*THERE.values(), *ABSENT.values()]
            answers, wall, processor = asyncio.run(asked(agent_server(Library(where), decoder), drawings))
        names = [[Path(hit["picture"]).stem for hit in a["hits"]] for a in answers]
        ranks = [n.index(thing) + 1 if thing in n else 0 for thing, n in zip(THERE, names, strict=False)]
        print("with the network:" if expansion else "by shape alone:", f"{len(pictures):,} pictures")
        print(f"  first {ranks.count(1)}, within ten {sum(0 < rank <= 10 for rank in ranks)} of {len(THERE)}")
        print("  not within ten:", [thing for thing, rank in zip(THERE, ranks, strict=True) if not rank])
        for group, part in (("there", answers[: len(THERE)]), ("not there", answers[len(THERE) :])):
            present = sorted(a["present"] for a in part)
            said = sum(a["absent"] for a in part)
            print(
                f"  {group}: absent said for {said} of {len(part)}; present {[round(p, 2) for p in present]}"
            )
        print(f"  a call: {statistics.median(processor):.0f} ms of the processor, "
              f"{statistics.median(wall):.0f} on the clock (median), four pictures shown")  # fmt: skip
    decoder.close()


if __name__ == "__main__":
    main()
