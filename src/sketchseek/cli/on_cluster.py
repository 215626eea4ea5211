"""An index on the shards of a Ray cluster, for the commands that may use one."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .arguments import cluster_options


@contextmanager
def index_on_cluster(args: argparse.Namespace, follow: bool = False) -> Iterator[Any]:
    """The index on the shards of a cluster, as the options say."""
    from ..cluster.connection import connect
    from ..cluster.fleet import ClusterOptions
    from ..storage.location import Location, no_index

    location = Location(args.index)
    if not location.exists():
        raise no_index(location)
    options = ClusterOptions(device=getattr(args, "device", "cpu"), **cluster_options(args))
    with connect(args.cluster):
        from ..cluster.index import ClusterIndex

        with ClusterIndex.spread(args.index, options, follow=follow) as index:
            yield index
