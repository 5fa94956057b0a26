"""Runs the examples of a Markdown page and compares what they print.

Usage: readme_examples.py PAGE.md FOLDER_OF_THE_BINARY. In every ```console block a line "$ command" is run by bash from the
project's root, with the binary's folder first in PATH; the lines below it are the output expected on stdout. A line "..."
stands for any number of lines, "..." within a line for any text. Numbers may differ by one in their last digit: sums of the
BLAS in use depend on the machine. A block ```console no-test is left alone.
"""

import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.M | re.S)


def examples(page_text):
    """[(command, expected output)] of the page, in order."""
    found = []
    for block in BLOCK.findall(page_text):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append([line[2:], []])
            elif found:
                found[-1][1].append(line)
    return [(command, "\n".join(lines).rstrip()) for command, lines in found]


NUMBER = re.compile(r"-?\d+\.\d+(?:e[-+]\d+)?")


def unit(number):
    """One in the last digit of a number as printed."""
    digits, _, exponent = number.partition("e")
    return 10.0 ** (int(exponent or 0) - len(digits.partition(".")[2]))


def nearly_equal(expected, got):
    """The same words, numbers with a fraction within one of the last digit shown."""
    words, others = expected.split(), got.split()
    return len(words) == len(others) and all(
        a == b or (NUMBER.fullmatch(a) and NUMBER.fullmatch(b) and abs(float(a) - float(b)) <= 1.001 * unit(a))
        for a, b in zip(words, others)
    )


def matches(expected, got):
    if "..." not in expected:
        lines, others = expected.rstrip().splitlines(), got.rstrip().splitlines()
        return len(lines) == len(others) and all(map(nearly_equal, lines, others))
    pattern = ""
    for line in expected.splitlines():
        if line.strip() == "...":
            pattern += r"(?:.*\n)*?"
        else:
            pattern += ".*".join(re.escape(part.rstrip()) for part in line.split("...")) + r"[ ]*\n"
    return re.fullmatch(pattern, got.rstrip() + "\n" if got.strip() else "") is not None


def main(page, binaries):
    environment = dict(os.environ, PATH=f"{binaries}:{os.environ['PATH']}")
    cases = examples(pathlib.Path(page).read_text(encoding="utf-8"))
    failed = 0
    for command, expected in cases:
        done = subprocess.run(["bash", "-c", command], cwd=ROOT, env=environment, capture_output=True, text=True)
        if not matches(expected, done.stdout):
            failed += 1
            print(f"$ {command}\n--- expected\n{expected}\n--- got (exit {done.returncode})\n{done.stdout}{done.stderr}")
    print(f"{len(cases) - failed} of {len(cases)} examples of {page} print what the page shows")
    return 1 if failed or not cases else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
