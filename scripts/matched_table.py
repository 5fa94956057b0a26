#!/usr/bin/env python3
"""What matched keys save: attention KL of every setting, calibrated on one text and judged on others.

  scripts/matched_table.py --calibrate LEARN.safetensors TEST.safetensors... [--seeds 1-6] [--bits 2,3,4]
  scripts/matched_table.py --calibration self TEST.safetensors...

Runs `orthant calibrate` once and `orthant kv` once for each test dump and seed, first four tokens exact (sink=4), and
prints a Markdown table for each dump: mean KL in nats over the dump's layers, averaged over the seeds of the rotation,
with the half width of its 95 % interval (Student's t between seeds). --tokens N learns from the first N tokens only.
"""

import argparse
import json
import math
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
SETTINGS = [
    ("plain", None),
    ("diagonal", "match=diag"),
    ("diagonal, align 1024", "match=diag,align=1024"),
    ("diagonal, align 256", "match=diag,align=256"),
    ("diagonal, align 64", "match=diag,align=64"),
    ("diagonal, align 64, rotating mean", "match=diag,centre=rotating,align=64"),
    ("diagonal, align 256, 4 segments", "match=diag,align=256,segments=4"),
    ("full, align 64, 4 segments", "match=full,align=64,segments=4"),
    ("full, align none, 4 segments", "match=full,segments=4"),
    ("before RoPE, diagonal", "match=diag,align=pre"),
    ("before RoPE, full, 4 segments", "match=full,align=pre,segments=4"),
]
# Two-sided 95 % quantiles of Student's t with 1, 2, ... degrees of freedom; the normal one beyond.
STUDENT = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131]


def numbers(text):
    """2,3-5 as [2, 3, 4, 5]."""
    result = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        result.extend(range(int(first), int(last or first) + 1))
    if not result:
        raise argparse.ArgumentTypeError(f"got {text!r}, expected numbers or ranges from low to high, e.g. 2,3-5")
    return result


def policy(bits, setting, calibration, rotation):
    matched = "" if setting is None else f",{setting},calibration={calibration}"
    return f"K=turbo-mse:{bits}{matched},rotation={rotation},sink=4"


def run(command):
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command[:3])} ...: exit {done.returncode}\n{done.stderr}")


def kl_of_policies(orthant, dump, policies, seed, report):
    """Mean KL over layers of each policy, in their order."""
    command = [orthant, "kv", dump, "--seed", str(seed), "--json", report]
    for text in policies:
        command += ["--method", text]
    run(command)
    return [row["kl_nats"] for row in json.loads(pathlib.Path(report).read_text())["summary"]]


def with_interval(values):
    """Mean and the half width of its 95 % interval; no interval from one value."""
    n = len(values)
    mean = sum(values) / n
    if n == 1:
        return f"{mean:.3g}"
    variance = sum((v - mean) ** 2 for v in values) / (n - 1)
    quantile = STUDENT[n - 2] if n - 2 < len(STUDENT) else 1.96
    half_width = quantile * math.sqrt(variance / n)
    digits = max(0, 1 - math.floor(math.log10(half_width))) if half_width > 0 else 4
    return f"{mean:.{digits}f} ± {half_width:.{digits}f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tests", nargs="+", metavar="TEST", help="dumps to judge")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--calibrate", metavar="LEARN", help="dump to learn the moments from")
    source.add_argument("--calibration", metavar="FILE|self", help="a calibration file, or the judged dump itself")
    parser.add_argument("--tokens", type=int, default=0, help="of LEARN, the first ones; 0: all")
    parser.add_argument("--seeds", type=numbers, default=numbers("1-6"), help="rotations, e.g. 1-6")
    parser.add_argument("--bits", type=numbers, default=numbers("2-4"), help="widths, e.g. 2-4")
    parser.add_argument("--rotation", default="haar", help="of the codes: haar, hadamard:1, ...")
    parser.add_argument("--only", default="", help="settings whose name contains this text, and plain")
    parser.add_argument("--orthant", default=str(ROOT / "build/release/apps/orthant"), help="the command")
    options = parser.parse_args()

    settings = [s for s in SETTINGS if s[1] is None or options.only in s[0]]
    if all(setting is None for _, setting in settings):
        parser.error(f"argument --only: got {options.only!r}, expected a part of one of: {', '.join(s[0] for s in SETTINGS)}")
    with tempfile.TemporaryDirectory() as folder:
        calibration = options.calibration
        if options.calibrate:
            calibration = f"{folder}/calibration.safetensors"
            run([options.orthant, "calibrate", options.calibrate, "--out", calibration, "--tokens", str(options.tokens)])
        cases = [
            (name, bits, policy(bits, setting, calibration, options.rotation))
            for name, setting in settings
            for bits in options.bits
        ]
        for dump in options.tests:
            runs = [
                kl_of_policies(options.orthant, dump, [text for _, _, text in cases], seed, f"{folder}/report.json")
                for seed in options.seeds
            ]
            kl = {case[:2]: with_interval([values[i] for values in runs]) for i, case in enumerate(cases)}
            print(f"\n{pathlib.Path(dump).stem}, {len(options.seeds)} seeds\n")
            print("| keys |" + "".join(f" {bits} bits |" for bits in options.bits))
            print("|---|" + "---|" * len(options.bits))
            for name, _ in settings:
                print(f"| {name} |" + "".join(f" {kl[name, bits]} |" for bits in options.bits), flush=True)


if __name__ == "__main__":
    main()
