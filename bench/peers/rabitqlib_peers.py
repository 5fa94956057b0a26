"""rabitqlib: IvfIndex with one cluster around the origin, so that it codes the keys themselves. Searched for the best key."""

from __future__ import annotations

import pathlib
import tempfile
from collections.abc import Iterator

import numpy as np
import rabitqlib

from peer import Peer, Repeated, Rows, repeat, scores_of_search

FEW = 64


class RabitqIndex:
    def __init__(self, keys: Rows, bits: int) -> None:
        self.index = filled(keys, bits)
        self.keys = len(keys)
        self.bytes_per_key = file_bytes_per_key(keys, bits)

    def scores(self, queries: Rows) -> np.ndarray:
        ids, distances = self.index.search(queries, self.keys, 1, high_accuracy=False)
        return scores_of_search(1 - distances, ids, self.keys)  # a distance is 1 - product

    def best(self, queries: Rows) -> np.ndarray:
        return self.index.search(queries, 1, 1, high_accuracy=False)[0].astype(np.int64)[:, 0]

    def asking(self, queries: Rows) -> Repeated:
        return repeat(lambda: self.index.search(queries, 1, 1, high_accuracy=False))


def filled(keys: Rows, bits: int) -> rabitqlib.IvfIndex:
    """Coded with a fixed scale: the search for the best one takes 8 to 60 microseconds a key, scoring is the same."""
    n, dim = keys.shape
    index = rabitqlib.IvfIndex(dim, n, 1, bits, metric="ip")
    index.build(keys, np.zeros((1, dim), np.float32), np.zeros(n, np.uint32), fast_quantization=True)
    return index


def file_bytes_per_key(keys: Rows, bits: int) -> float:
    """What a further key adds to the index as it is saved."""
    sizes = []
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "index"
        for count in (4096 + FEW, FEW):
            filled(np.resize(keys, (count, keys.shape[1])), bits).save(str(path))
            sizes.append(path.stat().st_size)
    return (sizes[0] - sizes[1]) / 4096


def peers() -> Iterator[Peer]:
    for bits, beside, tolerance in ((1, "1", 1.2), (2, "2", 0.3), (3, "3", 0.08), (4, "4", 0.026), (8, "8 wide", 0.002)):
        yield Peer("rabitqlib", f"IvfIndex {bits}", beside, "best key", tolerance,
                   lambda keys, bits=bits: RabitqIndex(keys, bits),
                   lambda rows, bits=bits: repeat(lambda: filled(rows, bits)))
