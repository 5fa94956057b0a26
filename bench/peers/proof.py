"""Before a row is timed: are its scores those of the keys?"""

from __future__ import annotations

import numpy as np

from peer import Index


class NotProved(Exception):
    pass


def score_error(index: Index, keys: np.ndarray, queries: np.ndarray, tolerance: float) -> float:
    """d times the mean square error of the scores beside the products in double. Throws NotProved beyond the
    tolerance, when scores are missing, or when the key called best is not the one with the best score."""
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
        slack = 1e-3 * np.nanmax(np.abs(scores), axis=1)
        if not np.all(scores[rows, best] >= np.nanmax(scores, axis=1) - slack):
            raise NotProved("the best key is not the one with the best score")
    return error
