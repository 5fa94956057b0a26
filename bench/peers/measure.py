"""Builds, proves and times the rows that stand beside one row of ours."""

from __future__ import annotations

import dataclasses
import sys
import traceback
from collections.abc import Callable

import numpy as np

from keys import KeySet
from peer import Index, Peer, Repeated, Rows
from proof import check_best, score_error
from timing import Stopwatch, ratio

CACHED = 4096
FEW = 64  # keys of the index that shows what a call from Python costs by itself
ENCODED = 4096
PLACES = ("cached 1", "cached 8", "memory 1", "memory 8")


@dataclasses.dataclass
class Timed:
    """A call, and how many keys it goes through; `empty` is the same call over few keys, to be taken off."""

    watch: Stopwatch
    keys: int
    empty: Stopwatch | None = None

    def measure(self) -> None:
        self.watch.measure()
        if self.empty is not None:
            self.empty.measure()

    def net(self) -> Stopwatch:
        """Seconds a key, round by round."""
        if self.empty is None:
            seconds = [s / self.keys for s in self.watch.seconds]
        else:
            own = self.empty.median()
            seconds = [max(s - own, 0.0) / (self.keys - FEW) for s in self.watch.seconds]
        return Stopwatch(self.watch.call, seconds)


@dataclasses.dataclass
class Row:
    peer: Peer
    error: float
    bytes_per_key: float
    timed: dict[str, Timed]  # by place, and "encode"
    kept: list[object]  # what the calls read

    def result(self, ours: Row) -> dict[str, object]:
        found: dict[str, object] = {
            "library": self.peer.library, "name": self.peer.name, "beside": self.peer.beside,
            "returns": self.peer.returns, "bytes_per_key": self.bytes_per_key, "error": self.error,
            "tolerance": self.peer.tolerance}
        for place, timed in self.timed.items():
            net = timed.net()
            found[place] = {"ns": net.median() * 1e9, "with_call_ns": timed.watch.median() / timed.keys * 1e9}
            if place in ours.timed:
                found[place]["ratio"] = ratio(net, ours.timed[place].net())
        return found


def told(peer: Peer, what: str, error: Exception) -> None:
    print(f"skipped {peer.library} {peer.name}, {what}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
    if not isinstance(error, (RuntimeError, ValueError)) and not type(error).__module__.startswith(("proof", "timing")):
        traceback.print_exc()


def calls(peer: Peer, index: Index, few: Index | None, asked: Callable[[int], Rows], place: str,
          keys: int) -> dict[str, Timed]:
    found = {}
    for queries in (1, 8):
        empty = Stopwatch(few.asking(asked(queries))) if few is not None else None
        found[f"{place} {queries}"] = Timed(Stopwatch(index.asking(asked(queries))), keys, empty)
    return found


def prepare(peer: Peer, key_set: KeySet, from_memory: int) -> Row:
    """A proved row with all its calls. Throws when the peer does not run here or is not proved."""
    def asked(count: int) -> Rows:
        return key_set.asked(count, peer.rotated_by_caller)

    keys = key_set.keys(CACHED, peer.rotated_by_caller)
    index = peer.build(keys)
    error = score_error(index, keys, asked(8), peer.tolerance)
    few = peer.build(keys[:FEW]) if peer.called_from_python else None
    row = Row(peer, error, index.bytes_per_key, calls(peer, index, few, asked, "cached", CACHED), [index, few])
    if from_memory > 0:
        many = key_set.keys(from_memory, peer.rotated_by_caller)
        large = peer.build(many)
        if not peer.shortlisted:
            check_best(large, many, asked(8), error)
        row.kept.append(large)
        row.timed |= calls(peer, large, few, asked, "memory", from_memory)
    if peer.encoding is not None:
        rows = key_set.keys(ENCODED, False)
        row.kept.append(rows)
        row.timed["encode"] = Timed(Stopwatch(peer.encoding(rows)), ENCODED)
    return row


def rounds_of(rows: list[Row], rounds: int) -> None:
    """Round after round through all rows, each neighbour of the others; a call that fails leaves its row alone."""
    for _ in range(rounds):
        for row in rows:
            for place in list(row.timed):
                try:
                    row.timed[place].measure()
                except Exception as error:  # a peer that fails is no reason to lose the others
                    told(row.peer, place, error)
                    del row.timed[place]


def measure_beside(peers: list[Peer], key_set: KeySet, from_memory: int, rounds: int) -> list[dict[str, object]]:
    """Results of one row of ours, which comes first, and of the peers beside it."""
    rows: list[Row] = []
    for peer in peers:
        try:
            rows.append(prepare(peer, key_set, from_memory))
        except Exception as error:  # as above; without our own row there is nothing to compare with
            if not rows:
                raise
            told(peer, "building or proof", error)
    rounds_of(rows, rounds)
    return [row.result(rows[0]) for row in rows]
