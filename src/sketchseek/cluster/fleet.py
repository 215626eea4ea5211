"""The shards of an index on a cluster, as a front sees them: started, asked, watched and replaced.

Any number of fronts share the shards of an index. No process is in charge: shards have names, and whoever
misses one starts it. A question goes to one replica of each shard; to another when the first is dead or later
than usual; and when the time is over, the answer says who has not answered.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import Any

from .. import __version__
from ..errors import SketchseekError
from .connection import NAMESPACE, ClusterError, ray_or_sentence
from .layout import Layout
from .shard import Shard
from .wire import Address, ask, connect, packed

TICK_S = 0.25
PING_S = 1.0
"""Between two pings; more where there are hundreds of shards."""
PATIENCE_S = 5.0
"""A shard that does not answer a ping for so long is replaced; one whose process ended, at once."""
LEAVING_S = 10.0
"""One that does not hear so long that a front leaves ends by itself, later."""
START_S = 30.0
"""So long may a shard take to start before it is started elsewhere; loading rows may take longer."""
SHUNNED_S = 30.0
"""A node on which a shard died gets no new one for so long, if there are others."""
_LATENCIES = 64
_HEDGE_AT_LEAST_S = 0.005
_HEDGE_UNKNOWN_S = 0.25  # before it is known what is usual
_HEDGE_FACTOR = 1.5


@dataclass(frozen=True)
class ClusterOptions:
    """How an index is spread.

    shards : None for one a node. replicas : of each shard.
    deadline : seconds that a search may take; what has not answered by then is left out, and the answer says
        which share of the collection it covers.
    hedge : ask a second replica when the first is later than usual.
    device : what searches, see `Index.open`.
    """

    shards: int | None = None
    replicas: int = 1
    deadline: float = 2.0
    hedge: bool = True
    device: str = "cpu"


@dataclass
class Scope:
    """One search: until when it may ask, and which shards it goes without."""

    ends: float
    lost: set[int] = field(default_factory=set)
    kept: list[Any] = field(default_factory=list)
    """Rows that it fetched."""

    @property
    def until(self) -> float:
        """When to stop waiting now: half of what is left is for the questions that follow."""
        now = time.monotonic()
        return now + max(self.ends - now, 0.02) / 2


@dataclass(frozen=True)
class _Wanted:
    """What a shard is to hold."""

    key: str
    layout: Layout
    recipe: str
    version: int


class _Replica:
    """One process that holds a shard's rows, or is about to."""

    def __init__(self, shard: int, number: int, incarnation: int, actor: Any, node: str | None) -> None:
        self.shard, self.number, self.incarnation = shard, number, incarnation
        self.actor, self.node = actor, node
        self.address: Address | None = None
        self.held: set[str] = set()
        self.preparing = ""
        self.pinged = self.heard = float("-inf")
        self.layout: Layout | None = None
        self.pending: dict[str, tuple[Any, float]] = {"hello": (actor.hello.remote(), time.monotonic())}
        self.dead = False
        self.next: _Replica | None = None
        """The newer process that it is retired for, until that holds the rows."""
        self.busy = 0
        self._idle: deque[Connection] = deque()

    def line(self) -> Connection:
        """A connection that nobody uses; OSError or EOFError where there is none to be had."""
        with suppress(IndexError):
            return self._idle.popleft()
        if self.address is None:
            raise OSError("not there yet")
        return connect(self.address)

    def hang_up(self, line: Connection) -> None:
        """The line may be used again."""
        self._idle.append(line)

    def close(self) -> None:
        """No more questions."""
        self.dead = True
        while self._idle:
            self._idle.popleft().close()


@dataclass
class _Sent:
    shard: int
    replica: _Replica
    since: float


class _Round:
    """One question to several shards, and what comes back."""

    def __init__(self, fleet: Fleet, name: str, requests: Mapping[int, tuple[Any, ...]]) -> None:
        self._fleet, self._name, self._requests = fleet, name, requests
        self._hedge_after = fleet.hedge_after(name)
        self._waiting: dict[Connection, _Sent] = {}
        self._tried: dict[int, list[_Replica]] = {shard: [] for shard in requests}
        self._answers: dict[int, Any] = {}
        self._bytes: dict[tuple[int, ...], bytes] = {}

    def answers(self, until: float) -> dict[int, Any]:
        """Those that are there by then, by shard."""
        for shard in self._requests:
            self._send(shard)
        try:
            while any(sent.shard not in self._answers for sent in self._waiting.values()):
                now = time.monotonic()
                if now >= until:
                    break
                late = [sent.since + self._hedge_after for sent in self._alone()] if self._hedge_after else []
                for line in wait(list(self._waiting), max(0.0, min([until, *late]) - now)):
                    self._take(line)  # type: ignore[arg-type]
                self._hedge()
        finally:
            for line, sent in self._waiting.items():  # their answers are not wanted any more
                sent.replica.busy -= 1
                line.close()
        return self._answers

    def _send(self, shard: int) -> bool:
        """Ask a replica that was not asked yet; whether there is one."""
        for replica in self._fleet.ready(shard, self._requests[shard][0]):
            if replica in self._tried[shard]:
                continue
            self._tried[shard].append(replica)
            try:
                line = replica.line()
                ask(line, self._name, self._requests[shard][0], self._packed(shard))
            except (OSError, EOFError):
                self._fleet.lose(replica)
                continue
            replica.busy += 1
            self._waiting[line] = _Sent(shard, replica, time.monotonic())
            return True
        return False

    def _packed(self, shard: int) -> bytes:
        """What follows the key; packed once where it is the same for all, as a query is."""
        arguments = self._requests[shard][1:]
        same = tuple(map(id, arguments))
        if same not in self._bytes:
            self._bytes[same] = packed(arguments)
        return self._bytes[same]

    def _take(self, line: Connection) -> None:
        sent = self._waiting.pop(line)
        sent.replica.busy -= 1
        try:
            good, value = line.recv()
        except (OSError, EOFError):
            line.close()
            self._fleet.lose(sent.replica)
            good, value = False, None
        else:
            sent.replica.hang_up(line)
            sent.replica.heard = time.monotonic()
            if not good:  # it no longer holds the rows, or has met something unexpected
                sent.replica.held.discard(self._requests[sent.shard][0])
                self._fleet.counts["refused"] += 1
        if sent.shard in self._answers:
            return
        if good:
            self._answers[sent.shard] = value
            self._fleet.note(self._name, time.monotonic() - sent.since)
        elif not any(other.shard == sent.shard for other in self._waiting.values()):
            self._send(sent.shard)

    def _alone(self) -> list[_Sent]:
        """Those without an answer whose shard was asked once."""
        return [
            sent
            for sent in self._waiting.values()
            if sent.shard not in self._answers and len(self._tried[sent.shard]) == 1
        ]

    def _hedge(self) -> None:
        if self._hedge_after is None:
            return
        now = time.monotonic()
        for sent in self._alone():
            if now - sent.since >= self._hedge_after:
                if self._send(sent.shard):
                    self._fleet.counts["hedged"] += 1
                else:
                    self._tried[sent.shard].append(sent.replica)  # there is no other: don't look again


class Fleet:
    """All replicas of all shards of an index."""

    def __init__(self, where: str, options: ClusterOptions) -> None:
        self.ray = ray_or_sentence()
        self.where, self.options = where, options
        digest = hashlib.blake2b(where.encode(), digest_size=8).hexdigest()
        self._kind = f"{digest}-{options.device}"
        self.shards = options.shards or self._shards_there() or max(1, len(self._nodes()))
        self._front = f"{os.uname().nodename}-{os.getpid()}-{secrets.token_hex(4)}"
        self._name = f"{self._kind}-{self.shards}"
        self._actor = self.ray.remote(Shard)
        self._slots = [(s, r) for s in range(self.shards) for r in range(options.replicas)]
        self._replicas: dict[tuple[int, int], _Replica] = {}
        self._wanted: dict[int, _Wanted] = {}
        self._shunned: dict[str, float] = {}
        self._lock = threading.RLock()
        self.latencies: dict[str, deque[float]] = {}
        self._turns: Counter[int] = Counter()
        self._closed = threading.Event()
        self._wake = threading.Event()
        self.counts: Counter[str] = Counter()
        self.problems: list[str] = []
        self._watch = threading.Thread(target=self._keep, daemon=True, name="sketchseek-fleet")
        self._watch.start()

    # --- asking -------------------------------------------------------------------------------------------

    def gather(self, scope: Scope, name: str, requests: Mapping[int, tuple[Any, ...]]) -> dict[int, Any]:
        """Answers by shard; those that are missing are noted in the scope.

        requests : for each shard that is asked, the key of its rows and the question's further arguments.
        """
        asked = {shard: request for shard, request in requests.items() if shard not in scope.lost}
        answers = _Round(self, name, asked).answers(scope.until)
        missing = asked.keys() - answers.keys()
        self.counts["lost"] += len(missing)
        scope.lost |= missing
        if len(scope.lost) == self.shards:
            raise ClusterError("No shard of the index answers.")
        return answers

    def ready(self, shard: int, key: str) -> list[_Replica]:
        """Replicas that hold the rows, the least busy first, each in its turn."""
        with self._lock:
            self._turns[shard] += 1
            found = [
                replica
                for number in range(self.options.replicas)
                if (
                    replica := self._replicas.get(
                        (shard, (number + self._turns[shard]) % self.options.replicas)
                    )
                )
                and not replica.dead
                and replica.address is not None
                and key in replica.held
            ]
        return sorted(found, key=lambda replica: replica.busy)

    def hedge_after(self, name: str) -> float | None:
        """How late an answer is late: half as much again as nearly all have taken."""
        if not self.options.hedge or self.options.replicas < 2:
            return None
        known = sorted(self.latencies.get(name, ()))
        if len(known) < 8:
            return min(_HEDGE_UNKNOWN_S, self.options.deadline / 8)
        return max(_HEDGE_AT_LEAST_S, _HEDGE_FACTOR * known[int(0.95 * (len(known) - 1))])

    def note(self, name: str, seconds: float) -> None:
        """How long an answer took."""
        self.latencies.setdefault(name, deque(maxlen=_LATENCIES)).append(seconds)

    def lose(self, replica: _Replica) -> None:
        """Its process ended, or can't be reached: the watch starts another."""
        with self._lock:
            replica.close()
            if replica.node is not None:
                self._shunned[replica.node] = time.monotonic()
        self._wake.set()

    # --- what they hold -----------------------------------------------------------------------------------

    def hold(self, layout: Layout, recipe: str, version: int, *, patience: float | None = None) -> bool:
        """Have every shard load its pieces; whether all have.

        Without `patience` shards that are not there are waited for; otherwise only so many seconds.
        """
        self.problems.clear()
        with self._lock:
            for shard, key in enumerate(layout.keys):
                self._wanted[shard] = _Wanted(key, layout, recipe, version)
        self._wake.set()
        began = time.monotonic()
        while not all(self.ready(shard, key) for shard, key in enumerate(layout.keys)):
            if self._closed.is_set():
                return False
            if self.problems and patience is None:
                raise ClusterError(self.problems[0])
            if patience is not None and time.monotonic() - began > patience:
                return False
            time.sleep(0.02)
        return True

    def layout_there(self) -> Layout | None:
        """The layout that other fronts have given the shards, so that all of them have the same one."""
        began = time.monotonic()
        while time.monotonic() - began < START_S and not self.problems:
            there = [self._replicas.get(slot) for slot in self._slots]
            if all(replica is not None and replica.address is not None for replica in there):
                break
            time.sleep(0.02)
        known = [replica.layout for replica in there if replica is not None and replica.layout is not None]
        return known[0] if known else None

    def everywhere(self, call: Callable[[Any, str], Any], timeout: float) -> None:
        """Make a call of Ray's to every replica that holds its rows, and wait for all of them."""
        with self._lock:
            there = [r for r in self._replicas.values() if not r.dead and r.address is not None]
            wanted = {shard: wanted.key for shard, wanted in self._wanted.items()}
        refs = [call(r.actor, wanted[r.shard]) for r in there if wanted.get(r.shard) in r.held]
        done, late = self.ray.wait(refs, num_returns=len(refs), timeout=timeout) if refs else ([], [])
        for ref in done:
            with suppress(Exception):  # one that died meanwhile is replaced by the watch
                self.ray.get(ref)
        if late:
            raise ClusterError(f"{len(late)} shards are not ready after {timeout:.0f} s.")

    # --- the watch ----------------------------------------------------------------------------------------

    def _keep(self) -> None:
        while not self._closed.is_set():
            try:
                for slot in self._slots:
                    self._tend(slot)
            except Exception as error:
                del self.problems[:-8]
                self.problems.append(f"The cluster can't be reached: {_first_line(error)}.")
            self._wake.wait(TICK_S)
            self._wake.clear()

    def _tend(self, slot: tuple[int, int]) -> None:
        replica = self._replicas.get(slot)
        if replica is None or replica.dead:
            self._replicas[slot] = self._found(slot, replica) or self._started(slot, replica)
        else:
            self._look_after(replica)
            if replica.next is not None:
                self._go_over(slot, replica, replica.next)

    def _go_over(self, slot: tuple[int, int], old: _Replica, new: _Replica) -> None:
        """From a process that is retired to its successor, once that holds the rows."""
        if new.dead:
            old.next = None
            return
        self._look_after(new)
        wanted = self._wanted.get(slot[0])
        if wanted is not None and wanted.key in new.held:
            with self._lock:
                self._replicas[slot] = new
            old.actor.release.remote(self._front)

    def _look_after(self, replica: _Replica) -> None:
        """See what it has answered through Ray, and tell it what to hold."""
        for name, (ref, since) in list(replica.pending.items()):
            done, _ = self.ray.wait([ref], timeout=0)
            if done:
                del replica.pending[name]
                try:
                    self._heard(replica, name, self.ray.get(ref))
                except Exception as error:
                    self._failed(replica, name, error)
            elif self._is_late(replica, name, since):
                self.lose(replica)
        if replica.dead or replica.address is None:
            return
        wanted = self._wanted.get(replica.shard)
        now = time.monotonic()
        if "ping" not in replica.pending and now - replica.pinged > PING_S + len(self._slots) / 200:
            replica.pinged = now
            replica.pending["ping"] = (replica.actor.ping.remote(self._front, wanted and wanted.key), now)
        if wanted is not None and wanted.key not in replica.held and "prepare" not in replica.pending:
            replica.preparing = wanted.key
            ref = replica.actor.prepare.remote(replica.shard, wanted.layout, wanted.recipe, wanted.version)
            replica.pending["prepare"] = (ref, time.monotonic())

    def _is_late(self, replica: _Replica, name: str, since: float) -> bool:
        """Whether an answer through Ray is overdue; who answers questions lives, however late pings are."""
        if name == "prepare":
            return False
        patience = START_S if name == "hello" else PATIENCE_S
        return time.monotonic() - max(since, replica.heard) > patience

    def _heard(self, replica: _Replica, name: str, answer: Any) -> None:
        if name == "hello" and answer is None:  # another front has just sent it away
            self.lose(replica)
        elif name == "hello":
            version, replica.node, replica.address, replica.layout = answer
            if version != __version__:
                self._leave([replica])
                raise ClusterError(
                    f"A node of the cluster has sketchseek {version}, and here is {__version__}: they have "
                    "to be the same."
                )
        elif name == "ping":
            held, retired = answer
            replica.held = set(held)
            if retired and replica.next is None:
                replica.next = self._found((replica.shard, replica.number), replica)
        else:
            replica.held.add(replica.preparing)

    def _failed(self, replica: _Replica, name: str, error: Exception) -> None:
        cause = getattr(error, "cause", None) or error
        if isinstance(cause, SketchseekError):
            self.problems.append(str(cause))
        elif "No module named" in str(error):
            self.problems.append("A node of the cluster has no sketchseek: install it on every node.")
        if name == "prepare" and isinstance(cause, SketchseekError):
            return  # tried again at the next tick, with what is wanted by then
        self.lose(replica)

    def _found(self, slot: tuple[int, int], before: _Replica | None) -> _Replica | None:
        """A newer incarnation of a replica, that another front has started."""
        newest, actor = self._newest(slot)
        if actor is None or (before is not None and newest <= before.incarnation):
            return None
        return _Replica(*slot, newest, actor, None)

    def _started(self, slot: tuple[int, int], before: _Replica | None) -> _Replica:
        """The next incarnation of a replica."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        incarnation = max(self._newest(slot)[0], before.incarnation if before else -1) + 1
        node, host, threads, card = self._place(slot)
        actor = self._actor.options(
            name=f"{self._name}-{slot[0]}-{slot[1]}-{incarnation}",
            namespace=NAMESPACE,
            lifetime="detached",
            get_if_exists=True,
            max_restarts=0,
            max_concurrency=8,
            num_cpus=0,
            num_gpus=int(card),
            scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False),
        ).remote(self.where, threads, self.options.device, host)
        self.counts["started"] += 1
        return _Replica(*slot, incarnation, actor, node)

    def _names(self, start: str) -> list[str]:
        """What follows in the names of actors that begin so."""
        return [
            entry["name"].removeprefix(start)
            for entry in self.ray.util.list_named_actors(all_namespaces=True)
            if entry["namespace"] == NAMESPACE and entry["name"].startswith(start)
        ]

    def _shards_there(self) -> int | None:
        """In how many shards another front has spread the index."""
        found = self._names(f"{self._kind}-")
        return int(found[0].split("-")[0]) if found else None

    def _newest(self, slot: tuple[int, int]) -> tuple[int, Any]:
        start = f"{self._name}-{slot[0]}-{slot[1]}-"
        numbers = [int(name) for name in self._names(start)]
        if not numbers:
            return -1, None
        try:
            return max(numbers), self.ray.get_actor(f"{start}{max(numbers)}", namespace=NAMESPACE)
        except ValueError:
            return max(numbers), None

    def _nodes(self) -> list[dict[str, Any]]:
        return [node for node in self.ray.nodes() if node["Alive"]]

    def _place(self, slot: tuple[int, int]) -> tuple[str, str, int, bool]:
        """The node for a replica, its address, the threads it may use there, and whether it gets a card.

        The one with the fewest shards for its cores, none of them of the same shard if that can be; with a
        graphics processor for each of its shards where that is wanted and can be. The others use processors.
        """
        now = time.monotonic()
        nodes = self._nodes()
        if not nodes:
            raise ClusterError("The cluster has no node.")
        used = Counter(r.node for r in self._replicas.values() if not r.dead and r.node is not None)
        same = {r.node for (s, _), r in self._replicas.items() if s == slot[0] and not r.dead}

        def has_card(node: dict[str, Any]) -> bool:
            free = node["Resources"].get("GPU", 0.0) - used[node["NodeID"]]
            return self.options.device == "cuda" and bool(free >= 1)

        def cost(node: dict[str, Any]) -> tuple[bool, bool, bool, float, str]:
            name, cores = node["NodeID"], max(1.0, node["Resources"].get("CPU", 1.0))
            shunned = now - self._shunned.get(name, float("-inf")) < SHUNNED_S
            return shunned, name in same, not has_card(node), (used[name] + 1) / cores, name

        best = min(nodes, key=cost)
        cores = int(best["Resources"].get("CPU", 1.0))
        per_node = -(-len(self._slots) // len(nodes))
        return best["NodeID"], best["NodeManagerAddress"], max(1, cores // per_node), has_card(best)

    # --- for people ---------------------------------------------------------------------------------------

    def status(self) -> list[dict[str, Any]]:
        """What each replica says of itself; `state` is ready, loading, starting or gone."""
        rows = []
        for (shard, number), replica in sorted(self._replicas.items()):
            wanted = self._wanted.get(shard)
            ready = wanted is not None and wanted.key in replica.held
            state = "gone" if replica.dead else "ready" if ready else "loading"
            state = "starting" if replica.address is None and not replica.dead else state
            row: dict[str, Any] = {"shard": shard, "replica": number, "state": state}
            if state in ("ready", "loading"):
                with suppress(Exception):
                    row.update(self.ray.get(replica.actor.status.remote(), timeout=2))
            rows.append(row)
        return rows

    def replace_all(self, patience: float = 120.0) -> None:
        """Rolling restart: a new process for each replica; the old one ends once all fronts went over."""
        for slot in self._slots:
            old = self._replicas[slot]
            new = self._started(slot, old)
            began = time.monotonic()
            old.next = new
            while self._replicas[slot] is old:
                if new.dead or time.monotonic() - began > patience:
                    raise ClusterError(
                        f"Shard {slot[0]} does not start again: {[*self.problems, 'no answer'][0]}"
                    )
                time.sleep(0.05)
            with suppress(self.ray.exceptions.RayError):
                while self.ray.get(old.actor.retire.remote(), timeout=PATIENCE_S) > 0:
                    if time.monotonic() - began > patience:
                        break
                    time.sleep(0.2)
            time.sleep(1.0)  # questions that are under way
            self.ray.kill(old.actor)
            old.close()

    def close(self) -> None:
        """Leave; shards that no other front uses end."""
        self._closed.set()
        self._wake.set()
        self._watch.join(timeout=5)
        there = list(self._replicas.values())
        self._leave([replica for replica in there if not replica.dead])
        for replica in there:
            replica.close()

    def _leave(self, replicas: list[_Replica]) -> None:
        """Leave shards, and end those that no other front uses."""
        asked = {}
        for replica in replicas:
            with suppress(Exception):
                asked[replica.actor.release.remote(self._front)] = replica.actor
        with suppress(Exception):
            for ref in self.ray.wait(list(asked), num_returns=len(asked), timeout=LEAVING_S)[0]:
                with suppress(Exception):
                    if self.ray.get(ref):
                        self.ray.kill(asked[ref])


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [repr(error)])[0].rstrip(". ")
