"""Writes what a benchmark printed into docs/results.json, from which the documentation takes every figure.

    python benchmarks/published.py demo.index | python benchmarks/record.py published --command "..."

Reads Markdown from standard input. Each of its tables is kept with the heading or the line with a colon above
it, and with the sentences below it. A section that is there is replaced.
"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parents[1] / "docs" / "results.json"


def cells(line: str) -> list[str]:
    """The cells of a table's line."""
    return [cell.strip() for cell in line.strip().removeprefix("|").removesuffix("|").split("|")]


def tables(markdown: str) -> list[dict[str, Any]]:
    """The tables of a text, each with its title and what is said below it."""
    found: list[dict[str, Any]] = []
    title, inside, lines = "", False, markdown.splitlines()
    for i, line in enumerate(lines):
        if line.startswith("|"):
            if not inside:
                corner, *columns = cells(line)
                found.append({"title": title, "corner": corner, "columns": columns, "rows": {}, "said": []})
                title = ""
            elif not set(line) <= set("|-: "):
                row, *values = cells(line)
                while row in found[-1]["rows"]:
                    row += " "  # rows without a name of their own stay apart
                found[-1]["rows"][row] = values
        elif line.strip():
            following = next((one for one in lines[i + 1 :] if one.strip()), "")
            if line.startswith("#") or (line.endswith(":") and following.startswith("|")):
                title = line.strip()
            elif found:
                found[-1]["said"].append(line)
        inside = line.startswith("|")
    return found


def record(
    section: str,
    markdown: str,
    command: str,
    *,
    of: str = "",
    measured: str | None = None,
    path: Path = RESULTS,
) -> None:
    """Put the tables of a text into the results, as a section.

    of : what was measured, on which machine.
    """
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    known[section] = {
        "command": command,
        "measured": measured or datetime.date.today().isoformat(),
        "of": of,
        "tables": tables(markdown),
    }
    path.write_text(text(known), encoding="utf-8")


def text(known: dict[str, Any]) -> str:
    """The results as JSON with a line for each row, so that a change of one figure changes one line."""
    lines = ["{"]
    for s, (name, section) in enumerate(known.items()):
        about = {key: value for key, value in section.items() if key != "tables"}
        lines.append(f"{said(name)}: {{")
        lines += [f"  {said(key)}: {said(value)}," for key, value in about.items()]
        lines.append('  "tables": [')
        for t, one in enumerate(section["tables"]):
            lines.append(f'    {{"title": {said(one["title"])}, "corner": {said(one["corner"])},')
            lines.append(f'     "columns": {said(one["columns"])},')
            lines.append('     "rows": {')
            rows = [f"       {said(row)}: {said(values)}" for row, values in one["rows"].items()]
            lines.append(",\n".join(rows))
            last = t == len(section["tables"]) - 1
            lines.append(f'     }}, "said": {said(one["said"])}}}{"" if last else ","}')
        lines.append("  ]}" + ("" if s == len(known) - 1 else ","))
    return "\n".join([*lines, "}"]) + "\n"


def said(value: Any) -> str:
    """JSON of one value, on one line."""
    return json.dumps(value, ensure_ascii=False)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("section")
    parser.add_argument("--command", required=True, help="what prints these tables")
    parser.add_argument("--of", default="", help="what was measured, on which machine")
    parser.add_argument("--measured", metavar="YYYY-MM-DD", help="default: today")
    args = parser.parse_args()
    record(args.section, sys.stdin.read(), args.command, of=args.of, measured=args.measured)


if __name__ == "__main__":
    main()
