"""What a library must offer to be measured: an index over keys that answers queries, and a way to encode."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Protocol

import numpy as np

Rows = np.ndarray  # (n, d) float32, C order
Repeated = Callable[[int], None]  # does its work that many times

SCORE_RUN = 1 << 16  # scores of keys from memory leave in runs of this many, into one buffer


class Index(Protocol):
    """Keys as a library holds them."""

    bytes_per_key: float

    def scores(self, queries: Rows) -> np.ndarray:
        """(queries, keys): every score the timed call works with, NaN where the library does not tell. For the proof."""

    def best(self, queries: Rows) -> np.ndarray | None:
        """The key the timed call returns for each query; None where it returns scores."""

    def asking(self, queries: Rows) -> Repeated:
        """The call to time, all queries in one go."""


@dataclasses.dataclass(frozen=True)
class Peer:
    """One row of the table."""

    library: str
    name: str
    beside: str  # the row of ours it stands beside: "1", "2", "3", "4", "8", "8 wide", "16"
    returns: str
    tolerance: float  # largest d * mean square error of scores of unit vectors that is taken for an answer
    build: Callable[[Rows], Index]
    encoding: Callable[[Rows], Repeated] | None = None
    rotated_by_caller: bool = False  # it assumes coordinates without a direction of their own
    shortlisted: bool = False  # of many keys it scores only a shortlist: what it calls best is not checked there
    called_from_python: bool = True  # the cost of a call is measured with few keys and taken off


def repeat(call: Callable[[], object]) -> Repeated:
    """A call from Python, repeated."""

    def run(repeats: int) -> None:
        for _ in range(repeats):
            call()

    return run


def scores_of_search(values: np.ndarray, ids: np.ndarray, keys: int) -> np.ndarray:
    """What a search for all keys found, as a matrix."""
    scores = np.full((len(ids), keys), np.nan, dtype=np.float32)
    for row, value, key in zip(scores, np.asarray(values), np.asarray(ids).astype(np.int64)):
        row[key[key >= 0]] = value[key >= 0]
    return scores
