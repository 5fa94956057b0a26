#!/usr/bin/env python3
"""Times other libraries on the work of a key cache, beside Orthant's own caches, and prints tables of ratios.

Every row is proved before it is timed: d times the mean square error of its scores beside the products of the unit
vectors must not exceed the row's tolerance. Rows that stand beside the same row of ours are timed in the same rounds;
the tables have medians of processor time, and of the ratios round by round. A library that is missing, fails or is not
proved is named on the error stream and left out. bench/peers/run.sh installs the libraries and starts this.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import json
import os
import pathlib
import platform
import sys
from collections.abc import Iterator

import ours
import row_dots
from keys import key_set
from measure import measure_beside
from peer import Peer
from table import fastest, markdown

PACKAGES = {"faiss-cpu": "faiss_peers", "turbovec": "turbovec_peers", "rabitqlib": "rabitqlib_peers",
            "numkong": "numkong_peers", "ggml": "ggml_peers"}
DISTRIBUTIONS = {"ggml": "llama-cpp-python"}
# Keys that leave no level of cache anything to keep between calls, also at the least bytes a key.
MEMORY = {"1": 4 << 20, "2": 2 << 20}
MEMORY_OTHERS = 1 << 20


def processor() -> str:
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def version(distribution: str) -> str:
    try:
        return f"{distribution} {importlib.metadata.version(distribution)}"
    except importlib.metadata.PackageNotFoundError:
        return f"{distribution} is not installed; libraries from elsewhere"


def found_peers(library: str, wanted: list[str]) -> Iterator[Peer]:
    """Rows of ours, then those of every package that can be loaded here."""
    code = ours.load(library)
    print(f"Orthant: {code.orthant_target().decode()}; {processor()}; Python {platform.python_version()}")
    yield from ours.rows(code)
    loops = row_dots.load(library)
    for package in wanted:
        try:
            module = importlib.import_module(PACKAGES[package])
            takes_loops = package in ("numkong", "ggml")
            yield from module.peers(loops) if takes_loops else module.peers()
            print(version(DISTRIBUTIONS.get(package, package)))
        except Exception as error:  # one package that does not load must not cost the others
            print(f"skipped {package}: {type(error).__name__}: {error}", file=sys.stderr)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", required=True, help="liborthant_peers.so of the build")
    parser.add_argument("--keys", action="append", help="dimension of random keys, or a dump; may be repeated")
    parser.add_argument("--memory", default="128", help="key sets also measured from memory, separated by commas")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--packages", default=",".join(PACKAGES), help="separated by commas")
    parser.add_argument("--beside", default="", help="only these rows of ours, separated by commas: 1,2,3,4,8,8 wide,16")
    parser.add_argument("--json", type=pathlib.Path, help="all results, with and without the cost of a call")
    return parser.parse_args()


def main() -> None:
    options = arguments()
    if os.environ.get("OMP_NUM_THREADS") != "1":
        sys.exit("peers: OMP_NUM_THREADS must be 1; bench/peers/run.sh sets it")
    peers = list(found_peers(options.library, options.packages.split(",")))
    groups = list(dict.fromkeys(peer.beside for peer in peers))
    if options.beside:
        groups = [group for group in groups if group in options.beside.split(",")]
    report = []
    for spec in options.keys or ["128", "64"]:
        chosen = key_set(spec)
        results = []
        for group in groups:
            from_memory = MEMORY.get(group, MEMORY_OTHERS) if spec in options.memory.split(",") else 0
            beside = [peer for peer in peers if peer.beside == group]
            results.append(measure_beside(beside, chosen, from_memory, options.rounds))
            print(f"measured {chosen.name}: {group}", file=sys.stderr, flush=True)
        print(f"\n{chosen.name}\n\n{markdown(results)}\n\nThe fastest\n\n{fastest(results)}", flush=True)
        report.append({"keys": chosen.name, "groups": results})
        if options.json:
            options.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
