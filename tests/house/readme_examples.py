"""Runs the examples of a Markdown page and compares what they print.

Usage: readme_examples.py PAGE.md FOLDER_OF_THE_BINARY. In every ```console block a line "$ command" is run by bash from the
project's root, with the binary's folder first in PATH; the lines below it are the output expected on stdout. A line "..."
stands for any number of lines, "..." within a line for any text. A block ```console no-test is left alone.
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


def matches(expected, got):
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
