"""faiss-cpu: scalar quantizers, TurboQuant, EDEN, RaBitQ and FastScan indexes. Searched for the best key, its fastest
use; scores of all keys are only asked for in the proof."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import faiss
import numpy as np

from peer import Peer, Repeated, Rows, repeat, scores_of_search

TRAINED_ON = 1 << 14
DISTINCT = 1 << 16
BEST = "best key"

Make = Callable[[int], faiss.Index]


class FaissIndex:
    def __init__(self, index: faiss.Index, keys: Rows) -> None:
        faiss.omp_set_num_threads(1)
        self.index = index
        self.bytes_per_key = float(index.code_size)
        add(index, keys)

    def scores(self, queries: Rows) -> np.ndarray:
        return scores_of_search(*self.index.search(queries, self.index.ntotal), self.index.ntotal)

    def best(self, queries: Rows) -> np.ndarray:
        return self.index.search(queries, 1)[1][:, 0]

    def asking(self, queries: Rows) -> Repeated:
        return repeat(lambda: self.index.search(queries, 1))


def add(index: faiss.Index, keys: Rows) -> None:
    """Keys beyond the distinct ones are their repetition, so flat codes are copied instead of computed again."""
    if len(keys) <= DISTINCT or not isinstance(index, faiss.IndexFlatCodes) or isinstance(index, faiss.IndexFastScan):
        index.add(keys)
        return
    codes = index.sa_encode(keys[:DISTINCT])
    for first in range(0, len(keys), DISTINCT):
        index.add_sa_codes(codes[: len(keys) - first])


def trained(make: Make, rows: Rows) -> faiss.Index:
    index = make(rows.shape[1])
    index.train(rows if len(rows) >= 4096 else np.resize(rows, (4096, rows.shape[1])))
    return index


def peer(name: str, beside: str, tolerance: float, make: Make, rotated: bool = False) -> Peer:
    def build(keys: Rows) -> FaissIndex:
        return FaissIndex(trained(make, keys[:TRAINED_ON]), keys)

    def encoding(rows: Rows) -> Repeated:
        index = trained(make, rows)

        def once() -> None:
            index.reset()
            index.add(rows)

        return repeat(once)

    return Peer("faiss-cpu", name, beside, BEST, tolerance, build, encoding, rotated_by_caller=rotated)


def scalar(kind: str) -> Make:
    return lambda dim: faiss.IndexScalarQuantizer(dim, getattr(faiss.ScalarQuantizer, kind), faiss.METRIC_INNER_PRODUCT)


def peers() -> Iterator[Peer]:
    product = faiss.METRIC_INNER_PRODUCT
    # Twice what the methods have on unit vectors; TurboQuant_prod more, see docs/audits.md.
    biased = {1: 0.7, 2: 0.24, 3: 0.07, 4: 0.02}
    unbiased = {1: 1.2, 2: 0.3, 3: 0.08, 4: 0.026}
    for bits, apart in ((1, 4), (2, 2), (4, 1)):
        yield peer(f"FastScan PQ(d/{apart})x4", str(bits), biased[bits],
                   lambda dim, apart=apart: faiss.IndexPQFastScan(dim, dim // apart, 4, product))
    for bits in (1, 2, 4):
        yield peer(f"RaBitQ FastScan {bits}", str(bits), unbiased[bits],
                   lambda dim, bits=bits: faiss.IndexRaBitQFastScan(dim, product, 32, bits), rotated=True)
    for bits in (1, 2, 4):
        yield peer(f"RaBitQ {bits}", str(bits), unbiased[bits],
                   lambda dim, bits=bits: faiss.IndexRaBitQ(dim, product, bits), rotated=True)
    for bits in (1, 2, 3, 4):
        yield peer(f"TurboQuant_mse {bits}", str(bits), biased[bits], scalar(f"QT_{bits}bit_tqmse"), rotated=True)
    for bits, tolerance in ((2, 0.6), (3, 0.2), (4, 0.06)):
        yield peer(f"TurboQuant_prod {bits}", str(bits), tolerance, scalar(f"QT_{bits}bit_tq"), rotated=True)
    for bits in (1, 2, 3, 4):
        yield peer(f"EDEN {bits}", str(bits), unbiased[bits],
                   lambda dim, bits=bits: faiss.IndexEDEN(dim, product, bits), rotated=True)
    yield peer("SQ4", "4", 0.05, scalar("QT_4bit"))
    yield peer("SQ8", "8 wide", 0.001, scalar("QT_8bit"))
    yield peer("TurboQuant_mse 8", "8 wide", 0.001, scalar("QT_8bit_tqmse"), rotated=True)
    yield peer("bf16", "16", 1e-4, scalar("QT_bf16"))
    yield peer("fp16", "16", 1e-4, scalar("QT_fp16"))
