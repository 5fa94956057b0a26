"""Times vector-search libraries on the work that a key cache does, beside `orthant bench`, and prints ratios.

What a row of a peer returns differs, and is said in the table: all scores as floats, or only the best key. Every peer
runs on one thread, with keys that fit the second-level cache and keys that do not, one query and eight. Rounds of all
measurements are interleaved; the table has medians. Calls from Python cost about a microsecond each, which is charged
to the peers: at 16384 keys 0.1 ns a key.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time

import faiss
import numkong
import numpy as np
import turbovec

DIM = 128
PLACES = {"cache": 16384, "memory": 1 << 20}
ROUNDS = 7


def time_call(call):
    """Seconds of one call, over at least two milliseconds."""
    count, begin = 0, time.perf_counter()
    while True:
        call()
        count += 1
        elapsed = time.perf_counter() - begin
        if elapsed > 0.002:
            return elapsed / count


def faiss_index(description, keys):
    index = faiss.index_factory(DIM, description, faiss.METRIC_INNER_PRODUCT)
    index.train(keys[:16384])
    index.add(keys)
    return index


def peers(keys, queries):
    """(peer, bits, what it returns, call) for each peer that works here."""
    found = []

    def add(name, bits, returns, make):
        try:
            call = make()
            call()
            found.append((name, bits, returns, call))
        except Exception as error:  # a peer that does not run on this machine is no failure of ours
            print(f"skipped {name}: {error}", file=sys.stderr)

    def search(index):
        return lambda: index.search(queries, 1)

    for bits in (2, 3, 4):
        def make(bits=bits):
            index = turbovec.TurboQuantIndex(dim=DIM, bit_width=bits)
            index.add(keys)
            index.prepare()
            return search(index)
        add("turbovec", bits, "best key", make)
    add("FAISS FastScan PQ32x4", 1, "best key", lambda: search(faiss_index("PQ32x4fs", keys)))
    add("FAISS FastScan PQ64x4", 2, "best key", lambda: search(faiss_index("PQ64x4fs", keys)))
    add("FAISS FastScan PQ128x4", 4, "best key", lambda: search(faiss_index("PQ128x4fs", keys)))
    add("FAISS RaBitQ FastScan", 1, "best key", lambda: search(faiss_index("RaBitQfs", keys)))
    add("FAISS SQ4", 4, "best key", lambda: search(faiss_index("SQ4", keys)))
    add("FAISS SQ8", 8, "best key", lambda: search(faiss_index("SQ8", keys)))

    def int8():
        scale = 127 / np.abs(keys).max()
        rows = np.rint(keys * scale).astype(np.int8)
        asked = np.rint(queries * (127 / np.abs(queries).max())).astype(np.int8)
        packed = numkong.dots_pack(rows, "int8")
        return lambda: numkong.dots_packed(asked, packed)
    add("NumKong int8", 8, "raw integers", int8)
    return found


def ours(orthant):
    """{(bits, place): (ns of one query, ns of eight)} from one run of our own command."""
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        subprocess.run(
            [orthant, "bench", "--dim", str(DIM), "--cached", str(PLACES["cache"]), "--memory", str(PLACES["memory"]),
             "--seconds", "6", "--json", report.name], check=True, stdout=subprocess.DEVNULL)
        rows = json.load(open(report.name))["rows"]
    bits = {"turbo-mse:1": 1, "turbo-mse:2": 2, "turbo-mse:3": 3, "turbo-mse:4": 4, "int8": 8}
    return {(bits[row["format"]], row["place"]): (row["ns_per_key"], row["ns_per_key_8"])
            for row in rows if row["format"] in bits}


def main(orthant):
    random = np.random.default_rng(1)
    before = ours(orthant)
    jobs = []
    for place, count in PLACES.items():
        keys = random.standard_normal((count, DIM), dtype=np.float32)
        keys /= np.linalg.norm(keys, axis=1, keepdims=True)
        for number in (1, 8):
            queries = random.standard_normal((number, DIM), dtype=np.float32)
            for name, bits, returns, call in peers(keys, queries):
                jobs.append((name, bits, returns, place, number, count, call, []))
    for _ in range(ROUNDS):
        for job in jobs:
            job[-1].append(time_call(job[-2]))
    after = ours(orthant)

    print(f"{'peer':24} {'bits':>4} {'returns':14} {'from':7} {'queries':>7} {'ns/key':>8} {'ours':>8} {'ratio':>6}")
    for name, bits, returns, place, number, count, _, seconds in jobs:
        peer = statistics.median(seconds) / count * 1e9
        own = (before[bits, place][number == 8] + after[bits, place][number == 8]) / 2
        print(f"{name:24} {bits:4} {returns:14} {place:7} {number:7} {peer:8.3f} {own:8.3f} {peer / own:6.2f}")
    print("\nOurs: all scores as floats, scales applied; the mean of a run before the peers and one after.")


if __name__ == "__main__":
    main(sys.argv[1])
