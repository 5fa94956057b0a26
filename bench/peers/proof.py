"""Before a row is timed: are its scores those of the keys?"""

from __future__ import annotations

import numpy as np

from peer import Index


class NotProved(Exception):
    pass


def reach(error: float, dim: int) -> float:
    """Six standard deviations of the difference of two scores."""
    return 6 * float(np.sqrt(2 * error / dim)) + 1e-5


def score_error(index: Index, keys: np.ndarray, queries: np.ndarray, tolerance: float) -> float:
    """d times the mean square error of the scores beside the products in double. Throws NotProved beyond the
    tolerance, when scores are missing, or when a key called best is one that its own errors do not explain: libraries that prune
    decide by part of a code."""
    exact = queries.astype(np.float64) @ keys.astype(np.float64).T
    scores = np.asarray(index.scores(queries), dtype=np.float64)
    if scores.shape != exact.shape:
        raise NotProved(f"scores of shape {scores.shape}, expected {exact.shape}")
    told = np.isfinite(scores)
    if told.mean() < 0.99:
        raise NotProved(f"only {told.mean():.1%} of the scores are told")
    error = float(keys.shape[1] * np.mean((scores[told] - exact[told]) ** 2))
    if not error <= tolerance:
        raise NotProved(f"d * mean square error {error:.3g}, tolerance {tolerance:.3g}")
    best = index.best(queries)
    if best is not None:
        rows = np.arange(len(queries))
        short = np.nanmax(scores, axis=1) - scores[rows, best]
        if not np.all(short <= reach(error, keys.shape[1])):
            raise NotProved(f"the best key's score is {short.max():.3g} below the largest")
    return error


def check_best(index: Index, keys: np.ndarray, queries: np.ndarray, error: float) -> None:
    """Of more keys than all scores are asked for: throws NotProved when a best key's product falls short of the largest
    by more than six standard deviations of the difference of two scores."""
    best = index.best(queries)
    if best is None:
        return
    exact = queries @ keys.T
    short = exact.max(axis=1) - exact[np.arange(len(queries)), best]
    if not np.all(short <= reach(error, keys.shape[1])):
        raise NotProved(f"the best key's product is {short.max():.3g} below the largest")
