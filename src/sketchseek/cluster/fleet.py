"""The shards of an index, as a front sees them: actors of Ray's, which starts, places and restarts them.

Any number of fronts share the shards of an index. No process is in charge: shards have names, and a front
that misses one asks Ray for it. What Ray does not do is here: a question has a deadline, a front says every
second that it is there and what it wants, and a shard that is silent is ended and asked for anew.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from .. import __version__
from ..errors import ClusterError, SketchseekError
from .connection import NAMESPACE, ray_or_sentence
from .shard import GROUP_OF, GROUPS, Shard
from .sharding import ShardLayout

RENEW_S = 1.0
"""Between two calls in which a front says that it is there; more where there are hundreds of shards."""
SILENCE_S = 3.0
"""A shard that answers nothing for so long is replaced. Ray restarts one whose process ended, at once."""
RESTART_S = 10.0
"""Nor is Ray waited for longer, which may not know yet that a node is gone."""
START_S = 120.0
"""So long may a process take to start; loading rows may take longer."""
ENCODE_S = 600.0
LEAVING_S = 10.0
"""A shard that does not score_words so long that a front leaves ends by itself, later."""
SEEN_S = 3.0
"""By then other fronts have seen that a shard is back."""
STATUS_S = 2.0
PENDING = 1000
"""Calls of one front that may wait for a shard; beyond that it does without."""
TICK_S = 0.25


@dataclass(frozen=True)
class ClusterOptions:
    """How an index is spread.

    shards : None for one per node. replicas : of each shard.
    deadline : seconds that a search may take; what has not answered by then is left out, and the answer says
        which share of the collection it covers.
    device : what searches, see `Index.open`.
    """

    shards: int | None = None
    replicas: int = 1
    deadline: float = 2.0
    device: str = "cpu"


@dataclass
class Scope:
    """One search: until when it may ask, and which shards it goes without."""

    ends: float
    lost: set[int] = field(default_factory=set)
    kept: list[Any] = field(default_factory=list)
    """Rows that it fetched."""

    @property
    def left(self) -> float:
        """Seconds to wait now: half of what is left is for the questions that follow."""
        return max(self.ends - time.monotonic(), 0.02) / 2


@dataclass(frozen=True)
class _Wanted:
    """What shards are to have. method : of `Shard`, that makes it. keys : what each shard's is known by."""

    method: str
    keys: Sequence[str]
    arguments: tuple[Any, ...]


@dataclass(eq=False)
class _Replica:
    """An actor that holds a shard's rows, or is about to."""

    shard: int
    number: int
    actor: Any
    held: set[str] = field(default_factory=set)
    calls: dict[str, tuple[Any, float]] = field(default_factory=dict)
    """The watch's, that were not answered yet, and since when."""
    next_renewal: float = 0.0
    since: float = field(default_factory=time.monotonic)
    """When its process was asked for, or ended."""
    heard: float | None = None
    """When that answered last; None before it has started."""
    is_restarting: bool = False
    is_late: bool = False

    def answered(self) -> None:
        """It lives."""
        self.heard, self.is_late, self.is_restarting = time.monotonic(), False, False

    def ended(self) -> None:
        """Its process is not there, and what it held neither; Ray may be about to restart it."""
        if self.heard is not None:
            self.since, self.is_restarting = time.monotonic(), True
        self.held, self.heard, self.next_renewal = set(), None, 0.0


class Fleet:
    """All replicas of all shards of an index."""

    def __init__(self, where: str, options: ClusterOptions) -> None:
        self.ray = ray_or_sentence()
        self.where, self.options = where, options
        digest = hashlib.blake2b(where.encode(), digest_size=8).hexdigest()
        kind = f"{digest}-{options.device}-"
        self.shards = options.shards or self._shards_there(kind) or self._nodes()
        self._name = f"{kind}{self.shards}"
        self._front = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"
        self._slots = [(s, r) for s in range(self.shards) for r in range(options.replicas)]
        self._replicas: dict[tuple[int, int], _Replica] = {}
        self._wanted: tuple[_Wanted, ...] = ()
        self._sizes: Sequence[int] = ()
        self._turns = count()
        self._closed = threading.Event()
        self._watch: threading.Thread | None = None
        self.counts: Counter[str] = Counter()
        self.problems: list[str] = []

    def _nodes(self) -> int:
        return max(1, sum(bool(node["Alive"]) for node in self.ray.nodes()))

    def _shards_there(self, kind: str) -> int | None:
        """In how many shards another front has spread the index."""
        named = self.ray.util.list_named_actors(all_namespaces=True)
        found = [e["name"] for e in named if e["namespace"] == NAMESPACE and e["name"].startswith(kind)]
        return int(found[0].removeprefix(kind).split("-")[0]) if found else None

    # --- asking -------------------------------------------------------------------------------------------

    def ask(self, scope: Scope, name: str, requests: Mapping[int, tuple[Any, ...]]) -> dict[int, Any]:
        """Answers by shard, within the scope's time; those that are missing are noted in the scope.

        requests : for each shard that is asked, the key of its rows and the question's further arguments.
        A replica that fails, or has not answered in half of the time, is followed by another.
        """
        asked = {shard: request for shard, request in requests.items() if shard not in scope.lost}
        untried = {shard: self.ready(shard, request[0]) for shard, request in asked.items()}
        answers: dict[int, Any] = {}
        sent: dict[Any, _Replica] = {}

        def send(shard: int) -> None:
            while untried[shard]:
                replica = untried[shard].pop(0)
                question = getattr(replica.actor, name).options(concurrency_group=GROUP_OF[name])
                with suppress(self.ray.exceptions.PendingCallsLimitExceeded):
                    sent[question.remote(*asked[shard])] = replica
                    return

        left = scope.left
        ends = time.monotonic() + left
        try:
            for until in (ends - left / 2, ends):
                for shard in asked.keys() - answers.keys():
                    send(shard)
                while missing := {replica.shard for replica in sent.values()} - answers.keys():
                    patience = until - time.monotonic()
                    if patience <= 0:
                        break
                    done, _ = self.ray.wait(list(sent), num_returns=len(missing), timeout=patience)
                    for ref in done:
                        replica = sent.pop(ref)
                        try:
                            answers[replica.shard] = self.ray.get(ref, timeout=left)
                            replica.answered()
                        except self.ray.exceptions.RayError as error:
                            self._failed(replica, "question", error)
                            send(replica.shard)
        finally:
            for ref, replica in sent.items():  # these answers are not needed any more
                replica.is_late = True
                with suppress(Exception):
                    self.ray.cancel(ref)
        lost = asked.keys() - answers.keys()
        self.counts["lost"] += len(lost)
        scope.lost |= lost
        if len(scope.lost) == self.shards:
            raise ClusterError("No shard of the index answers.")
        return answers

    def ready(self, shard: int, key: str) -> list[_Replica]:
        """Replicas that hold what is known by a key, each the first in its turn, the late ones last."""
        n, turn = self.options.replicas, next(self._turns)
        found = [self._replicas.get((shard, (turn + i) % n)) for i in range(n)]
        there = [replica for replica in found if replica is not None and key in replica.held]
        return sorted(there, key=lambda replica: replica.is_late)

    # --- what they hold -----------------------------------------------------------------------------------

    def hold(
        self,
        layout: ShardLayout,
        config: str,
        version: int,
        sizes: Sequence[int],
        *,
        patience: float | None = None,
    ) -> bool:
        """Have every shard load its pieces; whether all have. sizes : bytes of each.

        Without `patience` shards that are not there are waited for; otherwise only so many seconds.
        """
        self.problems.clear()
        self._sizes = sizes
        self._wanted = (_Wanted("load", layout.keys, (self.ray.put(layout), config, version)),)
        if self._watch is None:
            self._watch = threading.Thread(target=self._keep, daemon=True, name="sketchseek-fleet")
            self._watch.start()
        return self._all_hold(layout.keys, patience)

    def encode(self, layout: ShardLayout, name: str, means: Any, centroids: Any) -> Sequence[str]:
        """Have every shard make product codes of what its pictures depict; the keys of those."""
        keys = [f"{key} {name}" for key in layout.keys]
        codes = _Wanted("encode", keys, (self.ray.put(means), self.ray.put(centroids)))
        self._wanted = (*self._wanted[:1], codes)
        if not self._all_hold(keys, ENCODE_S):
            raise ClusterError("Not all shards have loaded the new version of the index yet.")
        return keys

    def _all_hold(self, keys: Sequence[str], patience: float | None) -> bool:
        began = time.monotonic()
        while not all(self.ready(shard, key) for shard, key in enumerate(keys)):
            if self.problems and patience is None:
                raise ClusterError(self.problems[0])
            if self._closed.is_set() or (patience is not None and time.monotonic() - began > patience):
                return False
            time.sleep(0.02)
        return True

    def layout_there(self) -> ShardLayout | None:
        """The layout that other fronts have given the shards, so that all of them have the same one."""
        asked = []
        for slot in self._slots:
            with suppress(ValueError):  # there is none of that name
                actor = self.ray.get_actor(self._name_of(slot), namespace=NAMESPACE)
                asked.append(actor.layout.remote())
        return next((found for found in self._answers(asked, SILENCE_S) if found is not None), None)

    def _answers(self, refs: list[Any], seconds: float) -> Iterator[Any]:
        """As they come."""
        ends = time.monotonic() + seconds
        while refs and (left := ends - time.monotonic()) > 0:
            done, refs = self.ray.wait(refs, timeout=left)
            with suppress(self.ray.exceptions.RayError):
                yield from self.ray.get(done)

    # --- the watch ----------------------------------------------------------------------------------------

    def _keep(self) -> None:
        while not self._closed.is_set():
            try:
                self._tend()
            except Exception as error:
                self._problem(f"The cluster can't be reached: {_first_line(error)}.")
                self._closed.wait(TICK_S)

    def _tend(self) -> None:
        """Start what is missing, tell all what is wanted, and take in what they answer."""
        missing = [slot for slot in self._slots if slot not in self._replicas]
        cards = self._cards() if missing else 0
        for number, slot in enumerate(missing):
            self._replicas[slot] = _Replica(*slot, self._actor(slot, number < cards))
        there = list(self._replicas.values())
        for replica in there:
            with suppress(self.ray.exceptions.PendingCallsLimitExceeded):
                self._call(replica)
        refs = [ref for replica in there for ref, _ in replica.calls.values()]
        if refs:
            self.ray.wait(refs, timeout=TICK_S)
        self._closed.wait(TICK_S / 5 if refs else TICK_S)
        done = set(self.ray.wait(refs, num_returns=len(refs), timeout=0)[0]) if refs else set()
        for replica in there:
            for name, (ref, _) in sorted(replica.calls.items(), reverse=True):  # "renew" before the others
                if ref in done:
                    del replica.calls[name]
                    try:
                        self._heard(replica, name, self.ray.get(ref))
                    except Exception as error:
                        self._failed(replica, name, error)
            self._end_if_silent(replica)

    def _call(self, replica: _Replica) -> None:
        """Say that this front is there, and ask for the first that is wanted and not held."""
        now, actor, wanted = time.monotonic(), replica.actor, self._wanted
        if "renew" not in replica.calls and now >= replica.next_renewal:
            replica.calls["renew"] = (actor.renew.remote(self._front, wanted[0].keys[replica.shard]), now)
            replica.next_renewal = now + RENEW_S + len(self._slots) / 200
        if replica.heard is None or len(replica.calls.keys() - {"renew"}):
            return
        for each in wanted:
            key = each.keys[replica.shard]
            if key not in replica.held:
                method = getattr(actor, each.method).options(concurrency_group=GROUP_OF[each.method])
                replica.calls[each.method] = (method.remote(key, *each.arguments), now)
                break

    def _heard(self, replica: _Replica, name: str, answer: Any) -> None:
        replica.answered()
        if name != "renew":
            replica.held.add(answer)
            return
        version, held = answer
        replica.held = set(held)
        if version != __version__:
            self._problem(
                f"A node of the cluster has sketchseek {version}, and here is {__version__}: they have to be "
                "the same."
            )

    def _failed(self, replica: _Replica, name: str, error: Exception) -> None:
        """A call was answered with an error."""
        exceptions = self.ray.exceptions
        if isinstance(error, exceptions.ActorDiedError):  # it ended for good, or could not begin
            if "No module named" in str(error):
                self._problem("A node of the cluster has no sketchseek: install it on every node.")
            self._forget(replica)
        elif isinstance(error, exceptions.RayTaskError):
            self.counts["refused"] += name == "question"
            cause = getattr(error, "cause", None)
            self._problem(str(cause) if isinstance(cause, SketchseekError) else f"{_first_line(error)}.")
            replica.next_renewal = 0.0  # it may no longer hold the rows
        else:  # Ray restarts it
            replica.ended()

    def _problem(self, sentence: str) -> None:
        del self.problems[:-8]
        self.problems.append(sentence)

    def _end_if_silent(self, replica: _Replica) -> None:
        """Replace one that answers neither the watch nor questions, or does not start."""
        now = time.monotonic()
        _, asked = replica.calls.get("renew", (None, now))
        if replica.heard is not None:
            late = now - max(asked, replica.heard) > SILENCE_S
        else:
            late = now - replica.since > (RESTART_S if replica.is_restarting else START_S)
            if late and not replica.is_restarting:
                self._problem(
                    f"Shard {replica.shard} has not started after {START_S:.0f} s: the cluster has no room "
                    "for it, or much else to do."
                )
        if late and self._replicas.get((replica.shard, replica.number)) is replica:
            self._end(replica)

    def _end(self, replica: _Replica) -> None:
        """End a process; the watch asks Ray for another."""
        self.ray.kill(replica.actor)
        self._forget(replica)

    def _forget(self, replica: _Replica) -> None:
        replica.ended()
        slot = replica.shard, replica.number
        if self._replicas.get(slot) is replica:
            del self._replicas[slot]

    def _actor(self, slot: tuple[int, int], card: bool) -> Any:
        """The actor of that name, or a new one on a node that Ray chooses.

        It asks for no cores, which others have meanwhile, but for the memory of its rows.
        """
        name = self._name_of(slot)
        with suppress(ValueError):
            return self.ray.get_actor(name, namespace=NAMESPACE)
        self.counts["started"] += 1
        options = self.ray.remote(concurrency_groups=GROUPS)(Shard).options(
            name=name,
            namespace=NAMESPACE,
            lifetime="detached",
            get_if_exists=True,
            max_restarts=-1,
            max_pending_calls=PENDING,
            num_cpus=0,
            num_gpus=int(card),
            memory=max(1 << 20, self._sizes[slot[0]]),
            scheduling_strategy="SPREAD",
        )
        return options.remote(self.where, -(-len(self._slots) // self._nodes()), self.options.device)

    def _name_of(self, slot: tuple[int, int]) -> str:
        return f"{self._name}-{slot[0]}-{slot[1]}"

    def _cards(self) -> int:
        """Graphics processors that shards may have; where there are fewer, the others use processors."""
        return int(self.ray.available_resources().get("GPU", 0)) if self.options.device == "cuda" else 0

    # --- for people ---------------------------------------------------------------------------------------

    def status(self) -> list[dict[str, Any]]:
        """What each replica says of itself; `state` is ready, loading, starting or silent."""
        there = sorted(self._replicas.items())
        asked = {slot: r.actor.status.remote() for slot, r in there if r.heard is not None}
        refs = list(asked.values())
        done = self.ray.wait(refs, num_returns=len(refs), timeout=STATUS_S)[0] if refs else []
        rows = []
        for (shard, number), replica in there:
            is_ready = all(wanted.keys[shard] in replica.held for wanted in self._wanted)
            row: dict[str, Any] = {"shard": shard, "replica": number, "state": "starting"}
            ref = asked.get((shard, number))
            if ref is not None:
                row["state"] = "silent"
                with suppress(self.ray.exceptions.RayError):
                    if ref in done:
                        row.update(self.ray.get(ref), state="ready" if is_ready else "loading")
            rows.append(row)
        return rows

    def restart(self, patience: float = 120.0) -> None:
        """A new process for each replica, in turn: with two of each shard, nothing is left out."""
        for shard, number in self._slots:
            self._wait_for_all(shard, patience)
            self._end(self._replicas[shard, number])
            self._wait_for_all(shard, patience)
            time.sleep(SEEN_S)

    def _wait_for_all(self, shard: int, patience: float) -> None:
        began, key = time.monotonic(), self._wanted[-1].keys[shard]
        while len(self.ready(shard, key)) < self.options.replicas:
            if time.monotonic() - began > patience:
                raise ClusterError(f"Shard {shard} does not start: {[*self.problems, 'no answer'][-1]}")
            time.sleep(0.05)

    def close(self) -> None:
        """Leave; shards that no other front uses end."""
        self._closed.set()
        if self._watch is not None:
            self._watch.join(timeout=5)
        left = []
        for replica in list(self._replicas.values()):
            with suppress(Exception):
                left.append(replica.actor.leave.remote(self._front))
        with suppress(Exception):
            self.ray.wait(left, num_returns=len(left), timeout=LEAVING_S)


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [repr(error)])[0].rstrip(". ")
