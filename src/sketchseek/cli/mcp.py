"""`sketchseek mcp`: serve an index to agents."""

from __future__ import annotations

import argparse

from .arguments import add_device, add_index


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `mcp`."""
    add_index(parser)
    add_device(parser)


def run(args: argparse.Namespace) -> int:
    """`mcp`."""
    from ..agents import serve_agents

    serve_agents(args.index, args.device)
    return 0
