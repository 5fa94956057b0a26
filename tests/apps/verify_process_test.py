"""The report of `orthant verify` as a process sees it: the same bytes for 1, 2 and 3 threads, for 1, 2 and 4 MPI ranks,
for a process bound to one processor, and for a run that was killed with SIGKILL and resumed.

Usage: verify_process_test.py ORTHANT [MPIRUN]
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ARGUMENTS = ["verify", "mse.distortion", "mse.theorem1", "--dim", "16", "--bits", "2,3", "--trials", "6000"]
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                   OMPI_MCA_btl_vader_single_copy_mechanism="none")


def run(prefix, orthant, report, *more):
    done = subprocess.run([*prefix, orthant, *ARGUMENTS, "--json", str(report), *more], env=ENVIRONMENT, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)
    if done.returncode != 0:
        raise SystemExit(f"{done.args} exited with {done.returncode}\n{done.stderr}")
    return report.read_bytes()


def bound_to_one_processor(orthant, report):
    """As mpirun binds its ranks: one thread, and no scheduler's complaint that more were asked for."""
    bind = lambda: os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    done = subprocess.run([orthant, *ARGUMENTS, "--json", str(report)], preexec_fn=bind, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)
    if done.returncode != 0 or done.stderr:
        raise SystemExit(f"bound to one processor: exit code {done.returncode}, stderr: {done.stderr}")
    info = subprocess.run([orthant, "info"], preexec_fn=bind, text=True, stdout=subprocess.PIPE, check=True, timeout=300)
    if ["threads", "1"] not in [line.split() for line in info.stdout.splitlines()]:
        raise SystemExit(f"bound to one processor: expected one thread\n{info.stdout}")
    return report.read_bytes()


def killed_and_resumed(orthant, folder, want):
    checkpoint = folder / "run.json"
    report = folder / "resumed.json"
    kills = 0
    blocks = 0
    while True:
        process = subprocess.Popen([orthant, *ARGUMENTS, "--json", str(report), "--resume", str(checkpoint)],
                                   stdout=subprocess.DEVNULL)
        # Killed as soon as one more block is on disk, until nothing is left to kill.
        while process.poll() is None:
            done = sum(e["blocks"] for e in json.loads(checkpoint.read_text())["experiments"].values()) \
                if checkpoint.exists() else 0
            if done > blocks and kills < 5:
                blocks = done
                process.send_signal(signal.SIGKILL)
                process.wait()
                kills += 1
                break
            time.sleep(0.001)
        if process.wait() == 0:
            break
        if process.returncode != -signal.SIGKILL:
            raise SystemExit(f"resumed run exited with {process.returncode}")
        if report.exists():
            raise SystemExit("a killed run left a report behind")
    if kills == 0:
        raise SystemExit("the run was never killed: make it longer")
    if report.read_bytes() != want:
        raise SystemExit(f"after {kills} kills the report differs")


def main():
    orthant = sys.argv[1]
    mpirun = shutil.which(sys.argv[2]) if len(sys.argv) > 2 else None
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        want = run([], orthant, folder / "one.json", "--threads", "1")
        for threads in (2, 3):
            if run([], orthant, folder / f"threads{threads}.json", "--threads", str(threads)) != want:
                raise SystemExit(f"{threads} threads: the report differs")
        if bound_to_one_processor(orthant, folder / "bound.json") != want:
            raise SystemExit("bound to one processor: the report differs")
        killed_and_resumed(orthant, folder, want)
        if mpirun is None:
            print("no mpirun: ranks not tried")
            return
        # Open MPI never frees what it allocates at start; under the leak sanitizer that is no finding of ours.
        ENVIRONMENT["ASAN_OPTIONS"] = "detect_leaks=0"
        for ranks in (1, 2, 4):
            prefix = [mpirun, "--oversubscribe", "-n", str(ranks)]
            if run(prefix, orthant, folder / f"ranks{ranks}.json", "--threads", "1") != want:
                raise SystemExit(f"{ranks} ranks: the report differs")
            # Ranks share a checkpoint too, and its key is the same as one process has.
            checkpoint = folder / f"ranks{ranks}-run.json"
            if run(prefix, orthant, folder / "r.json", "--threads", "1", "--resume", str(checkpoint)) != want:
                raise SystemExit(f"{ranks} ranks with a checkpoint: the report differs")
            if run([], orthant, folder / "r.json", "--resume", str(checkpoint)) != want:
                raise SystemExit("a checkpoint of ranks, continued by one process: the report differs")


main()
