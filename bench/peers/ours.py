"""Orthant's own rows: the caches of bench/peers/ours.cc, called through a C interface."""

from __future__ import annotations

import ctypes

import numpy as np

from peer import SCORE_RUN, Peer, Repeated, Rows

FLOATS = "floats"
# d * mean square error of scores with random directions: below twice what optimal codebooks have (0.36, 0.117, 0.0345,
# 0.0095), or what evenly spaced levels, blocks of 32 and bfloat16 have.
TOLERANCES = {1: 0.7, 2: 0.24, 3: 0.07, 4: 0.02}


def load(path: str) -> ctypes.CDLL:
    library = ctypes.CDLL(path)
    library.orthant_keys_new.restype = ctypes.c_void_p
    library.orthant_keys_new.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t]
    library.orthant_keys_free.argtypes = [ctypes.c_void_p]
    library.orthant_keys_bytes.restype = ctypes.c_size_t
    library.orthant_keys_bytes.argtypes = [ctypes.c_void_p]
    pointer, size = ctypes.c_void_p, ctypes.c_size_t
    for name, arguments in {
        "append": [pointer, pointer, size],
        "rotate": [pointer, pointer, size, pointer],
        "scores": [pointer, pointer, size, pointer, size],
        "encode": [pointer, pointer, size, size],
    }.items():
        function = getattr(library, f"orthant_keys_{name}")
        function.restype = ctypes.c_bool
        function.argtypes = arguments
    library.orthant_target.restype = ctypes.c_char_p
    return library


def done(result: bool) -> None:
    if not result:
        raise RuntimeError("refused; the reason stands above")


class Keys:
    """A key cache. Queries are rotated before the clock starts, as a cache expects them."""

    def __init__(self, library: ctypes.CDLL, form: str, bits: int, query_bits: int, rotation: str, dim: int) -> None:
        self.library, self.dim, self.count = library, dim, 0
        self.handle = library.orthant_keys_new(form.encode(), bits, query_bits, rotation.encode(), dim)
        done(bool(self.handle))

    def __del__(self) -> None:
        if self.handle:
            self.library.orthant_keys_free(self.handle)

    def append(self, rows: Rows) -> Keys:
        done(self.library.orthant_keys_append(self.handle, rows.ctypes.data, len(rows)))
        self.count += len(rows)
        return self

    @property
    def bytes_per_key(self) -> float:
        return self.library.orthant_keys_bytes(self.handle) / self.count

    def asking_into(self, queries: Rows, out: np.ndarray) -> Repeated:
        turned = np.empty_like(queries)
        done(self.library.orthant_keys_rotate(self.handle, queries.ctypes.data, len(queries), turned.ctypes.data))

        def run(repeats: int) -> None:
            done(self.library.orthant_keys_scores(
                self.handle, turned.ctypes.data, len(turned), out.ctypes.data, repeats))

        return run

    def scores(self, queries: Rows) -> np.ndarray:
        out = np.zeros((len(queries), min(self.count, SCORE_RUN)), dtype=np.float32)
        self.asking_into(queries, out)(1)
        return out

    def best(self, queries: Rows) -> None:
        return None

    def asking(self, queries: Rows) -> Repeated:
        return self.asking_into(queries, np.zeros((len(queries), min(self.count, SCORE_RUN)), dtype=np.float32))


def row(library: ctypes.CDLL, beside: str, name: str, form: str, tolerance: float, bits: int = 8, query_bits: int = 0,
        rotation: str = "hadamard:3", encodes: bool = True) -> Peer:
    def make(dim: int) -> Keys:
        return Keys(library, form, bits, query_bits, rotation, dim)

    def encoding(rows: Rows) -> Repeated:
        keys = make(rows.shape[1])
        return lambda repeats: done(
            library.orthant_keys_encode(keys.handle, rows.ctypes.data, len(rows), repeats))

    return Peer("Orthant", name, beside, FLOATS, tolerance, lambda keys: make(keys.shape[1]).append(keys),
                encoding if encodes else None, called_from_python=False)


def rows(library: ctypes.CDLL) -> list[Peer]:
    """The first row of each kind is what the peers of that kind are compared with."""
    found = []
    for bits, tolerance in TOLERANCES.items():
        for rotation in ("hadamard:3", "haar"):
            found.append(row(library, str(bits), f"{bits} bit{'s' * (bits > 1)}, {rotation}", "turbo", tolerance, bits,
                             rotation=rotation))
    found.append(row(library, "8", "8 bits even, one-byte query", "int8", 0.001, query_bits=8, encodes=False))
    found.append(row(library, "8", "q8_0", "q8_0", 0.001, encodes=False))
    found.append(row(library, "8 wide", "8 bits even, two-byte query", "int8", 0.001, encodes=False))
    found.append(row(library, "8 wide", "8 bits uneven, hadamard:3", "turbo", 0.001))
    found.append(row(library, "16", "bf16", "bf16", 1e-4))
    return found
