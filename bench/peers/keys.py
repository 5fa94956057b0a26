"""Keys and queries that everybody is given: random unit vectors, or keys of a dump scaled to unit length."""

from __future__ import annotations

import dataclasses
import pathlib
import sys

import numpy as np

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import float_tensors  # noqa: E402

DISTINCT = 1 << 16  # further keys repeat these: time does not depend on what they are


@dataclasses.dataclass(frozen=True)
class KeySet:
    name: str
    distinct: np.ndarray
    queries: np.ndarray  # (8, d), random directions
    rotation: np.ndarray  # (d, d), for libraries that leave it to the caller

    @property
    def dim(self) -> int:
        return self.distinct.shape[1]

    def keys(self, count: int, rotated: bool) -> np.ndarray:
        source = self.distinct @ self.rotation.T if rotated else self.distinct
        return np.ascontiguousarray(np.resize(source, (count, self.dim)), dtype=np.float32)

    def asked(self, count: int, rotated: bool) -> np.ndarray:
        queries = self.queries[:count]
        return np.ascontiguousarray(queries @ self.rotation.T if rotated else queries, dtype=np.float32)


def units(rows: np.ndarray) -> np.ndarray:
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.ascontiguousarray(rows[norms[:, 0] > 0] / norms[norms[:, 0] > 0], dtype=np.float32)


def read_keys(path: pathlib.Path) -> np.ndarray:
    """Keys of all layers and heads of an orthant-kv-1 dump, as float32 rows."""
    tensors = float_tensors.read(path, lambda name: name.endswith(".keys"))
    return np.concatenate([keys.reshape(-1, keys.shape[-1]) for keys in tensors.values()])


def key_set(spec: str, seed: int = 1) -> KeySet:
    """spec: a dimension, for random keys, or the path of a dump."""
    random = np.random.default_rng(seed)
    if spec.isdecimal():
        name, rows = f"random keys, d = {spec}", random.standard_normal((DISTINCT, int(spec)), dtype=np.float32)
    else:
        path = pathlib.Path(spec)
        rows = read_keys(path)
        name = f"{len(rows)} keys of {path.stem}, d = {rows.shape[1]}"
    dim = rows.shape[1]
    queries = units(random.standard_normal((8, dim)))
    rotation = np.linalg.qr(random.standard_normal((dim, dim)))[0]
    return KeySet(name, units(rows), queries, rotation.astype(np.float32))
