"""A hook of the build of the documentation: the reference of the command line and of HTTP, from the code."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from mkdocs.structure.files import File

GROUPS = {
    "Find pictures": ("index", "search", "remove", "info", "check"),
    "Show and share": ("serve", "demo", "publish", "mcp", "notebook"),
    "Understand": ("explain", "contours"),
    "Grow": ("cluster", "network"),
    "Measure": ("evaluate", "bench", "figure"),
    "Shell": ("completion",),
}


def on_files(files: Any, config: Any, **_: Any) -> Any:
    """Add the pages that are made from the code."""
    for name, text in (("command-line", command_line()), ("http", http())):
        files.append(File.generated(config, f"reference/{name}.md", content=text))
    return files


def command_line() -> str:
    """Every command with its options, as `--help` has them."""
    from sketchseek.cli import build_parser

    parts = [
        "# Command line\n\n`sketchseek COMMAND --help` prints the same. Progress and messages go to standard "
        "error, results to standard output. `--json` prints one JSON document. The exit status is 0 when it "
        "is done, 1 when it could not be done (a sentence tells why), 2 for wrong usage.\n"
    ]
    names = list(commands(build_parser([])))
    known = [name for group in GROUPS.values() for name in group]
    groups = {**GROUPS, "More": tuple(name for name in names if name not in known)}
    for title, members in groups.items():
        here = [name for name in members if name in names]
        if here:
            parts.append(f"## {title}\n")
            for name in here:
                parts += [*described(name, commands(build_parser([name]))[name], "###")]
    return "\n".join(parts)


def commands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """The parsers of a parser's commands, by name."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def described(name: str, parser: argparse.ArgumentParser, heading: str) -> Iterator[str]:
    """A command: its usage, what it does, a table of what it takes."""
    yield f"{heading} sketchseek {name} {{: #{name.replace(' ', '-')} }}\n"
    if parser.description:
        yield f"{parser.description}\n"
    usage = re.sub(r"\s+", " ", parser.format_usage().removeprefix("usage: ")).strip()
    yield f"```text\n{wrapped(usage)}\n```\n"
    rows = [row for action in parser._actions if (row := option(action, parser))]
    if rows:
        yield "| | |\n|---|---|"
        yield "\n".join(rows) + "\n"
    for inner, its_parser in commands(parser).items():
        if not its_parser.description:
            helps = {a.dest: a.help for a in _choices(parser)}
            its_parser.description = sentence(helps.get(inner) or "")
        yield from described(f"{name} {inner}", its_parser, heading + "#")


def _choices(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return list(action._choices_actions)
    return []


def option(action: argparse.Action, parser: argparse.ArgumentParser) -> str | None:
    """A row of the table: how an option is written, and what it does."""
    hidden = isinstance(action, argparse._HelpAction | argparse._SubParsersAction)
    if hidden or action.help == argparse.SUPPRESS:
        return None
    value = ""
    if action.nargs != 0:
        value = action.metavar if isinstance(action.metavar, str) else ""
        value = value or (",".join(map(str, action.choices)) if action.choices else action.dest.upper())
    written = f"{', '.join(action.option_strings)} {value}".strip() or value
    text = (action.help or "").replace("%%", "%")
    if "%(" in text:
        text = parser._get_formatter()._expand_help(action)
    return f"| `{cell(written)}` | {cell(sentence(text))} |"


def sentence(text: str) -> str:
    """A help text as a sentence."""
    return text[:1].upper() + text[1:] + "." * (bool(text) and text[-1] not in ".)")


def cell(text: str) -> str:
    """Text inside of a table."""
    return text.replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")


def wrapped(usage: str, width: int = 76) -> str:
    """A usage on several lines, never broken inside of brackets."""
    lines, line = [], ""
    for word in re.findall(r"\[[^\[\]]*(?:\[[^\]]*\][^\[\]]*)*\]|\S+", usage):
        if line and len(line) + len(word) >= width:
            lines.append(line)
            line = "   "
        line += (" " if line else "") + word
    return "\n".join([*lines, line])


def http() -> str:
    """Every address of the server, from its OpenAPI document, and its limits."""
    document = openapi()
    parts = [
        "# HTTP\n\nWhat `sketchseek serve` answers. The same, for programs, is at `/openapi.json`. Errors "
        'are `{"detail": "a sentence"}` with a fitting status. With `--token`, send `Authorization: Bearer '
        "TOKEN`; `GET /api/health` needs none.\n"
    ]
    for path, methods in document["paths"].items():
        for method, about in methods.items():
            parts.append(f"## {method.upper()} {path}\n")
            parts.append(sentence(about.get("summary", "")) + "\n")
            if about.get("description"):
                parts.append(about["description"] + "\n")
            parts += parameters(about)
            parts += bodies(about.get("requestBody", {}), document)
            parts += answers(about.get("responses", {}), document)
    return "\n".join([*parts, limits()])


def openapi() -> dict[str, Any]:
    """The server's description of itself."""
    import tempfile
    from pathlib import Path

    from fastapi.testclient import TestClient

    from sketchseek.server.app import create_app

    with tempfile.TemporaryDirectory() as folder:
        visitor = TestClient(create_app(str(Path(folder) / "index")), base_url="http://127.0.0.1")
        answer = visitor.get("/openapi.json")
    document: dict[str, Any] = answer.raise_for_status().json()
    return document


def parameters(about: dict[str, Any]) -> Iterator[str]:
    """What stands in the address."""
    rows = [
        f"| `{p['name']}` | {kind(p.get('schema', {}))} | {cell(p.get('description', ''))} |"
        for p in about.get("parameters", [])
        if p["in"] in ("path", "query")
    ]
    if rows:
        yield "\n".join(["| in the address | | |", "|---|---|---|", *rows]) + "\n"


def bodies(body: dict[str, Any], document: dict[str, Any]) -> Iterator[str]:
    """What is sent."""
    for media, content in body.get("content", {}).items():
        yield from fields_of(f"sent as `{media}`", content.get("schema", {}), document)


def answers(responses: dict[str, Any], document: dict[str, Any]) -> Iterator[str]:
    """What comes back, when all goes well; and the statuses of what does not."""
    for status, response in responses.items():
        if status.startswith("2"):
            for media, content in response.get("content", {}).items():
                yield from fields_of(f"answered as `{media}`", content.get("schema", {}), document)
    wrong = sorted(status for status in responses if not status.startswith("2"))
    if wrong:
        yield f"Other statuses: {', '.join(wrong)}.\n"


def fields_of(title: str, schema: dict[str, Any], document: dict[str, Any]) -> Iterator[str]:
    """A schema's fields as a table."""
    schema = resolved(schema, document)
    rows = [
        f"| `{name}` | {kind(resolved(of, document))} | {cell(of.get('description', ''))} |"
        for name, of in schema.get("properties", {}).items()
    ]
    if rows:
        yield "\n".join([f"| {title} | | |", "|---|---|---|", *rows]) + "\n"
    else:
        yield f"{sentence(title)}\n"


def resolved(schema: dict[str, Any], document: dict[str, Any]) -> dict[str, Any]:
    """A schema itself, where another is referred to."""
    reference = schema.get("$ref")
    if reference is None:
        return schema
    found: Any = document
    for part in reference.removeprefix("#/").split("/"):
        found = found.get(part, {})
    return {**found, **{k: v for k, v in schema.items() if k != "$ref"}}


def kind(schema: dict[str, Any]) -> str:
    """What kind of value a schema allows."""
    if "$ref" in schema:
        return f"{schema['$ref'].rpartition('/')[2]}"
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(kind(one) for one in schema["anyOf"]))
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {kind(schema.get('items', {})) or 'anything'}"
    name = {"string": "text", "integer": "whole number", "object": "object", "boolean": "true or false"}
    return name.get(schema.get("type", ""), schema.get("type", ""))


def limits() -> str:
    """The caps of one server, from the code."""
    from sketchseek.server.limits import Limits

    rows = []
    for field in fields(Limits):
        value = getattr(Limits(), field.name)
        shown = f"{value:,}" if isinstance(value, int) else f"{value:g}"
        rows.append(f"| `{field.name}` | {shown} |")
    return (
        "## Limits\n\nEach is a field of `Limits` (`sketchseek.server.limits`), which says what it is about. "
        "Requests are taken for hostile. Searches that run at once depend on the machine.\n\n"
        "| | |\n|---|---|\n" + "\n".join(row for row in rows if "`searches`" not in row) + "\n"
    )


if __name__ == "__main__":
    print(command_line(), http(), json.dumps(list(GROUPS)), sep="\n")
