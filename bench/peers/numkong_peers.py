"""NumKong: its batched product with packed keys, and its dot kernels called for one key after another."""

from __future__ import annotations

import ctypes
import dataclasses
from collections.abc import Iterator

import numkong
import numpy as np

from peer import SCORE_RUN, Peer, Repeated, Rows, repeat
from row_dots import RowsOf


@dataclasses.dataclass(frozen=True)
class Kind:
    """A type of keys and queries."""

    name: str
    beside: str
    returns: str
    tolerance: float
    result: type[np.generic]

    def scale(self, rows: Rows) -> np.float32:
        """What integers are multiplied with: one factor for all keys, as no row has a scale here."""
        return np.float32(127 / np.abs(rows).max()) if self.name == "int8" else np.float32(1)

    def cast(self, rows: Rows) -> numkong.Tensor:
        return numkong.astype(rows * self.scale(rows), self.name)


KINDS = (
    Kind("int8", "8", "integers", 0.002, np.int32),
    Kind("bfloat16", "16", "floats", 1e-4, np.float32),
    Kind("float16", "16", "floats", 1e-4, np.float32),
)


class PackedKeys:
    def __init__(self, kind: Kind, keys: Rows) -> None:
        self.kind, self.scale = kind, kind.scale(keys)
        self.packed = numkong.dots_pack(kind.cast(keys), dtype=kind.name)
        self.bytes_per_key = self.packed.nbytes / len(keys)

    def scores(self, queries: Rows) -> np.ndarray:
        found = np.asarray(numkong.dots_packed(self.kind.cast(queries), self.packed))
        return found / (self.scale * self.kind.scale(queries))

    def best(self, queries: Rows) -> None:
        return None

    def asking(self, queries: Rows) -> Repeated:
        asked = self.kind.cast(queries)
        out = numkong.dots_packed(asked, self.packed)
        return repeat(lambda: numkong.dots_packed(asked, self.packed, out=out))


class RowKeys:
    def __init__(self, kind: Kind, keys: Rows, loops: ctypes.CDLL) -> None:
        self.kind, self.loops, self.dim, self.count = kind, loops, keys.shape[1], len(keys)
        self.scale = kind.scale(keys)
        self.keys = kind.cast(keys)
        self.dot = numkong.pointer_to_dot(kind.name)
        self.bytes_per_key = float(self.keys.nbytes / len(keys))

    def scores(self, queries: Rows) -> np.ndarray:
        out = self.empty(len(queries))
        self.asking_into(queries, out)(1)
        return out / (self.scale * self.kind.scale(queries))

    def best(self, queries: Rows) -> None:
        return None

    def asking(self, queries: Rows) -> Repeated:
        return self.asking_into(queries, self.empty(len(queries)))

    def empty(self, queries: int) -> np.ndarray:
        return np.zeros((queries, min(self.count, SCORE_RUN)), self.kind.result)

    def asking_into(self, queries: Rows, out: np.ndarray) -> Repeated:
        asked = self.kind.cast(queries)
        rows = [RowsOf(t.data_ptr, t.nbytes // t.shape[0], t.shape[0]) for t in (asked, self.keys)]

        def run(repeats: int) -> None:
            assert asked.nbytes  # the rows below are its memory
            self.loops.peers_numkong_scores(self.dot, ctypes.byref(rows[0]), ctypes.byref(rows[1]), self.dim,
                                            out.ctypes.data, out.itemsize, out.shape[1], repeats)

        return run


def peers(loops: ctypes.CDLL) -> Iterator[Peer]:
    for kind in KINDS:
        yield Peer("numkong", f"{kind.name}, packed", kind.beside, kind.returns, kind.tolerance,
                   lambda keys, kind=kind: PackedKeys(kind, keys),
                   lambda rows, kind=kind: repeat(lambda: numkong.dots_pack(kind.cast(rows), dtype=kind.name)))
        yield Peer("numkong", f"{kind.name}, row by row", kind.beside, kind.returns, kind.tolerance,
                   lambda keys, kind=kind: RowKeys(kind, keys, loops),
                   lambda rows, kind=kind: repeat(lambda: kind.cast(rows)), called_from_python=False)
