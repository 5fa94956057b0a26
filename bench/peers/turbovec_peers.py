"""turbovec: TurboQuantIndex, which rotates by itself. Searched for the best key.

With 2 and 4 bits and many keys (65536 here, not 4096) a search reads the first bit of each coordinate only, and the
rest of the 128 keys or so that look best by it: from memory these rows do not score every key.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import turbovec

from peer import Peer, Repeated, Rows, repeat, scores_of_search

FEW = 64


class TurbovecIndex:
    def __init__(self, keys: Rows, bits: int) -> None:
        self.index = filled(keys, bits)
        self.keys = len(keys)
        self.bytes_per_key = file_bytes_per_key(keys, bits)

    def scores(self, queries: Rows) -> np.ndarray:
        return scores_of_search(*self.index.search(queries, self.keys), self.keys)

    def best(self, queries: Rows) -> np.ndarray:
        return np.asarray(self.index.search(queries, 1)[1]).astype(np.int64)[:, 0]

    def asking(self, queries: Rows) -> Repeated:
        return repeat(lambda: self.index.search(queries, 1))


def filled(keys: Rows, bits: int) -> turbovec.TurboQuantIndex:
    index = turbovec.TurboQuantIndex(keys.shape[1], bits)
    index.add(keys)
    index.prepare()
    return index


def file_bytes_per_key(keys: Rows, bits: int) -> float:
    """What a further key adds to the index as it is saved."""
    many, few = (len(filled(np.resize(keys, (n, keys.shape[1])), bits).to_bytes()) for n in (4096 + FEW, FEW))
    return (many - few) / 4096


def peers() -> Iterator[Peer]:
    for bits, tolerance in ((2, 0.3), (3, 0.08), (4, 0.026)):
        yield Peer("turbovec", f"TurboQuantIndex {bits}", str(bits), "best key", tolerance,
                   lambda keys, bits=bits: TurbovecIndex(keys, bits),
                   lambda rows, bits=bits: repeat(lambda: filled(rows, bits)), shortlisted=bits != 3)
