"""ggml's dot kernels, from the shared libraries that llama-cpp-python builds; called as its attention calls them: the
query in the kernel's own type, then one key after another. Three types also through ggml's matrix product."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import pathlib
from collections.abc import Iterator

import numpy as np

from peer import SCORE_RUN, Peer, Repeated, Rows, repeat
from row_dots import RowsOf

# name: (number in ggml.h's enum ggml_type, row of ours, tolerance)
TYPES = {
    "q1_0": (41, "1", 0.8),
    "q2_0": (42, "2", 0.8),
    "q4_0": (2, "4", 0.05),
    "q4_1": (3, "4", 0.05),
    "iq4_nl": (20, "4", 0.05),
    "mxfp4": (39, "4", 0.08),
    "q8_0": (8, "8", 0.001),
    "bf16": (30, "16", 1e-4),
    "f16": (1, "16", 1e-4),
}


class CpuTraits(ctypes.Structure):
    """struct ggml_type_traits_cpu of ggml-cpu.h."""

    _fields_ = [("from_float", ctypes.c_void_p), ("vec_dot", ctypes.c_void_p), ("vec_dot_type", ctypes.c_int),
                ("nrows", ctypes.c_int64)]


class InitParams(ctypes.Structure):
    """struct ggml_init_params of ggml.h."""

    _fields_ = [("mem_size", ctypes.c_size_t), ("mem_buffer", ctypes.c_void_p), ("no_alloc", ctypes.c_bool)]


def library_folder() -> pathlib.Path:
    """Of llama-cpp-python, or ORTHANT_GGML_FOLDER: any build of the same libraries."""
    if "ORTHANT_GGML_FOLDER" in os.environ:
        return pathlib.Path(os.environ["ORTHANT_GGML_FOLDER"])
    spec = importlib.util.find_spec("llama_cpp")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("llama-cpp-python is not installed")
    return pathlib.Path(spec.origin).parent / "lib"


class Ggml:
    def __init__(self) -> None:
        folder = library_folder()
        self.base = ctypes.CDLL(str(folder / "libggml-base.so"), mode=ctypes.RTLD_GLOBAL)
        self.cpu = ctypes.CDLL(str(folder / "libggml-cpu.so"), mode=ctypes.RTLD_GLOBAL)
        self.base.ggml_row_size.restype = ctypes.c_size_t
        self.base.ggml_row_size.argtypes = [ctypes.c_int, ctypes.c_int64]
        self.base.ggml_blck_size.restype = ctypes.c_int64
        self.base.ggml_type_name.restype = ctypes.c_char_p
        pointer = ctypes.c_void_p
        for name, result, arguments in (
            ("ggml_init", pointer, [InitParams]),
            ("ggml_free", None, [pointer]),
            ("ggml_new_tensor_2d", pointer, [pointer, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]),
            ("ggml_mul_mat", pointer, [pointer, pointer, pointer]),
            ("ggml_new_graph", pointer, [pointer]),
            ("ggml_build_forward_expand", None, [pointer, pointer]),
            ("ggml_get_data", pointer, [pointer]),
            ("ggml_backend_graph_compute", ctypes.c_int, [pointer, pointer]),
        ):
            getattr(self.base, name).restype, getattr(self.base, name).argtypes = result, arguments
        self.cpu.ggml_backend_cpu_init.restype = pointer
        self.cpu.ggml_backend_cpu_set_n_threads.argtypes = [pointer, ctypes.c_int]
        self.cpu.ggml_get_type_traits_cpu.restype = ctypes.POINTER(CpuTraits)
        self.cpu.ggml_cpu_init()  # tables for half precision
        self.backend = self.cpu.ggml_backend_cpu_init()
        self.cpu.ggml_backend_cpu_set_n_threads(self.backend, 1)

    def traits(self, name: str) -> CpuTraits:
        number = TYPES[name][0]
        told = self.base.ggml_type_name(number).decode()
        if told != name:
            raise RuntimeError(f"type {number} is {told} here, expected {name}")
        return self.cpu.ggml_get_type_traits_cpu(number).contents

    def row_bytes(self, number: int, dim: int) -> int:
        block = self.base.ggml_blck_size(number)
        if dim % block != 0:
            raise ValueError(f"blocks of {block} do not divide rows of {dim}")
        return self.base.ggml_row_size(number, dim)

    def from_float(self, traits: CpuTraits, rows: Rows, out: np.ndarray) -> None:
        """Rows follow each other without a gap and blocks divide them: one long row is the same bytes."""
        prototype = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
        prototype(traits.from_float)(rows.ctypes.data, out.ctypes.data, rows.size)


class GgmlKeys:
    def __init__(self, ggml: Ggml, name: str, keys: Rows, loops: ctypes.CDLL) -> None:
        self.ggml, self.loops, self.traits = ggml, loops, ggml.traits(name)
        self.dim, self.count = keys.shape[1], len(keys)
        row = ggml.row_bytes(TYPES[name][0], self.dim)
        self.rows = np.zeros((self.count, row), np.uint8)
        ggml.from_float(self.traits, keys, self.rows)
        self.bytes_per_key = float(row)

    def scores(self, queries: Rows) -> np.ndarray:
        out = self.empty(len(queries))
        self.asking_into(queries, out)(1)
        return out

    def best(self, queries: Rows) -> None:
        return None

    def asking(self, queries: Rows) -> Repeated:
        return self.asking_into(queries, self.empty(len(queries)))

    def empty(self, queries: int) -> np.ndarray:
        return np.zeros((queries, min(self.count, SCORE_RUN)), np.float32)

    def asking_into(self, queries: Rows, out: np.ndarray) -> Repeated:
        kind = self.traits.vec_dot_type
        from_float = self.ggml.cpu.ggml_get_type_traits_cpu(kind).contents.from_float
        row = self.ggml.row_bytes(kind, self.dim)
        asked = np.zeros((len(queries), row), np.uint8)
        keys = RowsOf(self.rows.ctypes.data, self.rows.shape[1], self.count)

        def run(repeats: int) -> None:
            self.loops.peers_ggml_scores(self.traits.vec_dot, from_float, queries.ctypes.data, asked.ctypes.data, row,
                                         len(queries), ctypes.byref(keys), self.dim, out.ctypes.data, out.shape[1],
                                         repeats)

        return run


class GgmlProduct:
    """The same keys through ggml's matrix product: a graph of one node."""

    def __init__(self, ggml: Ggml, name: str, keys: Rows) -> None:
        self.ggml, self.kind = ggml, TYPES[name][0]
        self.dim, self.count = keys.shape[1], len(keys)
        row = ggml.row_bytes(self.kind, self.dim)
        self.rows = np.zeros((self.count, row), np.uint8)
        ggml.from_float(ggml.traits(name), keys, self.rows)
        self.bytes_per_key = float(row)

    def best(self, queries: Rows) -> None:
        return None

    def scores(self, queries: Rows) -> np.ndarray:
        graph = ProductGraph(self, queries)
        graph.compute()
        return graph.result()

    def asking(self, queries: Rows) -> Repeated:
        return repeat(ProductGraph(self, queries).compute)


class ProductGraph:
    """Keys and queries are copied into ggml's own memory when it is made."""

    def __init__(self, keys: GgmlProduct, queries: Rows) -> None:
        base, self.keys, self.queries = keys.ggml.base, keys, len(queries)
        bytes_of_all = keys.rows.nbytes + queries.nbytes + 4 * self.queries * keys.count
        self.context = base.ggml_init(InitParams(bytes_of_all + (1 << 20), None, False))
        coded = base.ggml_new_tensor_2d(self.context, keys.kind, keys.dim, keys.count)
        asked = base.ggml_new_tensor_2d(self.context, 0, keys.dim, self.queries)  # 0: float
        ctypes.memmove(base.ggml_get_data(coded), keys.rows.ctypes.data, keys.rows.nbytes)
        ctypes.memmove(base.ggml_get_data(asked), queries.ctypes.data, queries.nbytes)
        self.product = base.ggml_mul_mat(self.context, coded, asked)
        self.graph = base.ggml_new_graph(self.context)
        base.ggml_build_forward_expand(self.graph, self.product)

    def __del__(self) -> None:
        self.keys.ggml.base.ggml_free(self.context)

    def compute(self) -> None:
        status = self.keys.ggml.base.ggml_backend_graph_compute(self.keys.ggml.backend, self.graph)
        if status != 0:
            raise RuntimeError(f"ggml_backend_graph_compute: {status}")

    def result(self) -> np.ndarray:
        address = self.keys.ggml.base.ggml_get_data(self.product)
        scores = (ctypes.c_float * (self.queries * self.keys.count)).from_address(address)
        return np.array(scores, dtype=np.float32).reshape(self.queries, self.keys.count)


def peers(loops: ctypes.CDLL) -> Iterator[Peer]:
    ggml = Ggml()
    for name, (number, beside, tolerance) in TYPES.items():
        def encoding(rows: Rows, name: str = name, number: int = number) -> Repeated:
            traits = ggml.traits(name)
            out = np.zeros((len(rows), ggml.row_bytes(number, rows.shape[1])), np.uint8)

            def run(repeats: int) -> None:
                for _ in range(repeats):
                    ggml.from_float(traits, rows, out)

            return run

        yield Peer("ggml", f"{name}, row by row", beside, "floats", tolerance,
                   lambda keys, name=name: GgmlKeys(ggml, name, keys, loops), encoding, called_from_python=False)
        if name in ("q4_0", "q8_0", "bf16"):
            yield Peer("ggml", f"{name}, matrix product", beside, "floats", tolerance,
                       lambda keys, name=name: GgmlProduct(ggml, name, keys))
