"""Plain loops in C over dot kernels that take one key a call (bench/peers/row_dots.cc)."""

from __future__ import annotations

import ctypes


class RowsOf(ctypes.Structure):
    """Rows of keys or queries, one after another."""

    _fields_ = [("data", ctypes.c_void_p), ("bytes", ctypes.c_size_t), ("count", ctypes.c_size_t)]


def load(path: str) -> ctypes.CDLL:
    library = ctypes.CDLL(path)
    pointer, size = ctypes.c_void_p, ctypes.c_size_t
    rows = ctypes.POINTER(RowsOf)
    library.peers_ggml_scores.restype = None
    library.peers_ggml_scores.argtypes = [pointer, pointer, pointer, pointer, size, size, rows, size, pointer, size, size]
    library.peers_numkong_scores.restype = None
    library.peers_numkong_scores.argtypes = [pointer, rows, rows, size, pointer, size, size, size]
    return library
