"""Builds each planted fault of mutants.json in a copy of the source; its test must fail. See README.md beside."""

import argparse
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent


def load():
    mutants = json.loads((HERE / "mutants.json").read_text(encoding="utf-8"))
    names = [m["name"] for m in mutants]
    if len(set(names)) != len(names):
        raise SystemExit("mutants.json: a name stands twice")
    return mutants


def faults_of_list(mutants):
    for m in mutants:
        path = ROOT / m["file"]
        if not path.is_file():
            yield f"{m['name']}: no file {m['file']}"
            continue
        count = path.read_text(encoding="utf-8").count(m["find"])
        if count != 1:
            yield f"{m['name']}: the text to replace stands {count} times in {m['file']}, expected once"
        if m["find"] == m["replace"]:
            yield f"{m['name']}: changes nothing"


def copy_tree(target):
    """The files that git knows, touched only where they changed, so that a second run builds little."""
    files = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True).stdout
    target.mkdir(parents=True, exist_ok=True)
    subprocess.run(["rsync", "-rlp", "--checksum", "--from0", "--files-from=-", f"{ROOT}/", f"{target}/"], input=files, check=True)


def quiet(command, **kwargs):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **kwargs)


def build(tree, test):
    return quiet(["cmake", "--build", str(tree / "build"), "--target", test])


def run(tree, mutant):
    found = [p for p in (tree / "build").rglob(mutant["test"]) if p.is_file() and os.access(p, os.X_OK)]
    command = [str(found[0])]
    if "filter" in mutant:
        command.append("--gtest_filter=" + mutant["filter"])
    return quiet(command, timeout=900)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check-list", action="store_true", help="only check that every mutant applies")
    parser.add_argument("--build", type=pathlib.Path, help="folder for the copy of the source and its build")
    parser.add_argument("--only", action="append", help="run this mutant alone (may be repeated)")
    args = parser.parse_args()

    mutants = load()
    rotten = list(faults_of_list(mutants))
    print("\n".join(rotten) if rotten else f"{len(mutants)} mutants apply")
    if args.check_list or rotten:
        return 1 if rotten else 0
    if args.only:
        mutants = [m for m in mutants if m["name"] in args.only]

    tree = args.build.resolve() / "source"
    copy_tree(tree)
    configure = quiet(["cmake", "-S", str(tree), "-B", str(tree / "build"), "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                       "-DORTHANT_WARNINGS_AS_ERRORS=OFF"])
    if configure.returncode:
        raise SystemExit(configure.stdout)

    survivors = []
    for test in sorted({m["test"] for m in mutants}):
        clean = build(tree, test)
        if clean.returncode:
            raise SystemExit(clean.stdout[-3000:])
        of_test = [m for m in mutants if m["test"] == test]
        for mutant in of_test:
            sound = run(tree, mutant)
            if sound.returncode or "[  PASSED  ] 0 tests" in sound.stdout:
                raise SystemExit(f"{mutant['name']}: its test does not pass on the sound source\n{sound.stdout[-3000:]}")
        for mutant in of_test:
            path = tree / mutant["file"]
            sound_text = path.read_text(encoding="utf-8")
            path.write_text(sound_text.replace(mutant["find"], mutant["replace"]), encoding="utf-8")
            try:
                built = build(tree, test)
                if built.returncode:
                    raise SystemExit(f"{mutant['name']}: does not compile\n{built.stdout[-3000:]}")
                caught = run(tree, mutant).returncode != 0
            finally:
                path.write_text(sound_text, encoding="utf-8")
            print(f"{'caught  ' if caught else 'SURVIVED'} {mutant['name']}", flush=True)
            if not caught:
                survivors.append(mutant["name"])
    print(f"{len(mutants) - len(survivors)} of {len(mutants)} planted faults caught")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
