#!/usr/bin/env python3
"""Runs quantizers of other projects on the same vectors and lets `orthant audit` judge what they put out.

    python3 -m venv peers && peers/bin/pip install numpy faiss-cpu==1.15.1 turbovec==1.1.2 rabitqlib==0.7.1
    peers/bin/python scripts/audit_peers.py --orthant build/release/apps/orthant --out audits

Optional: nothing else needs it, and a peer that is not installed is left out. Writes the arrays, one JSON report for each
audit and summary.json into the folder. --vectors takes real vectors (rows of the last axis, normalised) in place of
random ones: FILE.npy, or FILE.safetensors:TENSOR.
"""

import argparse
import importlib
import importlib.metadata
import json
import pathlib
import subprocess
import sys

import float_tensors
import numpy as np


def real_units(text, most):
    """At most `most` nonzero rows, evenly spread over the tensor."""
    path, colon, name = text.partition(".safetensors:")
    x = float_tensors.read(pathlib.Path(path + ".safetensors"), name.__eq__)[name] if colon else np.load(text)
    x = x.reshape(-1, x.shape[-1]).astype(np.float32)
    norms = np.linalg.norm(x, axis=1, keepdims=True)
    x = (x / np.where(norms > 0, norms, 1))[norms[:, 0] > 0]
    return np.ascontiguousarray(x[np.linspace(0, len(x) - 1, min(most, len(x))).astype(int)])


def random_units(rng, n, d):
    x = rng.standard_normal((n, d)).astype(np.float32)
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def queries_for(rng, keys, count):
    """Every other query has cosine 0.7 with a key, the rest are random directions."""
    queries = random_units(rng, count, keys.shape[1])
    for i in range(0, count, 2):
        across = queries[i] - (queries[i] @ keys[i]) * keys[i]
        queries[i] = 0.7 * keys[i] + np.sqrt(1 - 0.49) * across / np.linalg.norm(across)
    return queries.astype(np.float32)


def score_matrix(found, keys, queries):
    """(scores, ids) of a search for all keys, as one row a query."""
    scores = np.full((len(queries), len(keys)), np.nan, dtype=np.float32)
    for row, (values, ids) in enumerate(zip(*found)):
        valid = ids.astype(np.int64) >= 0
        scores[row, ids[valid].astype(np.int64)] = values[valid]
    return scores


def faiss_peers(keys, queries, isotropic):
    faiss = importlib.import_module("faiss")
    d, n = keys.shape[1], len(keys)

    def run(index):
        # faiss leaves the rotation to the caller; vectors that are isotropic already need none.
        if not isotropic:
            rotation = faiss.RandomRotationMatrix(d, d)
            rotation.init(12345)
            index = faiss.IndexPreTransform(rotation, index)
        index.train(keys)
        index.add(keys)
        return score_matrix(index.search(queries, n), keys, queries), index.reconstruct_n(0, n)

    def scalar(kind):
        return faiss.IndexScalarQuantizer(d, getattr(faiss.ScalarQuantizer, kind), faiss.METRIC_INNER_PRODUCT)

    for bits in (1, 2, 3, 4, 8):
        yield f"QT_{bits}bit_tqmse", bits, *run(scalar(f"QT_{bits}bit_tqmse"))
    for bits in (2, 3, 4, 5):
        yield f"QT_{bits}bit_tq", bits, *run(scalar(f"QT_{bits}bit_tq"))
    for bits in (1, 2, 3, 4, 8):
        yield f"IndexEDEN {bits}", bits, *run(faiss.IndexEDEN(d, faiss.METRIC_INNER_PRODUCT, bits))
    for bits in (1, 2, 4, 8):
        yield f"QT_{bits}bit_eden", bits, *run(scalar(f"QT_{bits}bit_eden"))
    for bits in (1, 2, 3, 4, 8):
        index = faiss.IndexRaBitQ(d, faiss.METRIC_INNER_PRODUCT, bits)
        index.qb = 0  # exact queries: the code alone is judged
        yield f"IndexRaBitQ {bits}", bits, *run(index)


def turbovec_peers(keys, queries, isotropic):
    del isotropic  # it rotates by itself
    turbovec = importlib.import_module("turbovec")
    for bits in (2, 3, 4):
        index = turbovec.TurboQuantIndex(keys.shape[1], bits)
        index.add(keys)
        yield f"TurboQuantIndex {bits}", bits, score_matrix(index.search(queries, len(keys)), keys, queries), None


def rabitqlib_peers(keys, queries, isotropic):
    del isotropic  # it rotates by itself
    rabitqlib = importlib.import_module("rabitqlib")
    n, d = keys.shape
    for fast in (False, True):
        for bits in (1, 2, 3, 4, 5, 8):
            # One cluster around the origin: codes of the vectors themselves.
            index = rabitqlib.IvfIndex(d, n, 1, bits, metric="ip")
            index.build(keys, np.zeros((1, d), np.float32), np.zeros(n, np.uint32), fast_quantization=fast)
            ids, values = index.search(queries, n, 1, high_accuracy=True)
            scores = score_matrix((1 - values, ids), keys, queries)  # "ip" distances are 1 - product
            yield f"IvfIndex {bits}{' fast' if fast else ''}", bits, scores, None


PEERS = {"faiss-cpu": faiss_peers, "turbovec": turbovec_peers, "rabitqlib": rabitqlib_peers}


def audit(orthant, kind, files, bits, report):
    command = [orthant, "audit", kind, *map(str, files), "--bits", str(bits), "--json", str(report)]
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(command)}: exit {done.returncode}\n{done.stderr}")
    return json.loads(report.read_text())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--orthant", default="orthant")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--dim", type=int, default=128)
    parser.add_argument("--keys", type=int, default=3000)
    parser.add_argument("--queries", type=int, default=64)
    parser.add_argument("--vectors", metavar="FILE")
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()

    options.out.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(options.seed)
    if options.vectors:
        keys = real_units(options.vectors, options.keys)
    else:
        keys = random_units(rng, options.keys, options.dim)
    queries = queries_for(rng, keys, options.queries)
    np.save(options.out / "keys.npy", keys)
    np.save(options.out / "queries.npy", queries)

    summary = []
    for package, peers in PEERS.items():
        try:
            version = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            print(f"{package}: not installed, left out", file=sys.stderr)
            continue
        for name, bits, scores, decoded in peers(keys, queries, isotropic=not options.vectors):
            stem = f"{package}-{name}".replace(" ", "-")
            for kind, array in (("estimator", scores), ("decoded", decoded)):
                if array is None:
                    continue
                path = options.out / f"{stem}-{kind}.npy"
                np.save(path, np.ascontiguousarray(array, dtype=np.float32))
                files = [options.out / "keys.npy", path] if kind == "decoded" else \
                    [options.out / "queries.npy", options.out / "keys.npy", path]
                report = audit(options.orthant, kind, files, bits, options.out / f"{stem}-{kind}.json")
                rows = {row["measured"]: row["value"] for row in report["rows"]}
                findings = [(f["kind"], f["id"]) for f in report["findings"]]
                summary.append({"package": package, "version": version, "name": name, "bits": bits, "audit": kind,
                                "faulty": report["settings"]["faulty"], "findings": findings, "measured": rows})
                told = ", ".join(f"{k} {i}" for k, i in findings) or "nothing"
                shown = {k: f"{v:.4g}" for k, v in rows.items() if k in ("slope", "V", "1 - cos^2") or k.startswith("|x - ")}
                print(f"{package} {version}  {name:20} {kind:10} {shown}  {told}")
    (options.out / "summary.json").write_text(json.dumps(summary, indent=1) + "\n")


if __name__ == "__main__":
    main()
