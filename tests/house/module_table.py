"""Checks which module includes which: the table of docs/modules.md, read as it stands.

Usage: module_table.py PROJECT_DIR. Prints every include that the table does not allow and exits with 1.
"""

import pathlib
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]', re.M)
ROW = re.compile(r"^\|\s*`?(\w+)`?[^|]*\|[^|]*\|([^|]*)\|\s*$", re.M)
FOREIGN = re.compile(r"^(Eigen|boost|tbb|oneapi|fmt|nlohmann|CLI|Random123|cblas|arb|acb|fmpz|openssl|gtest|benchmark|mpi)\b")


def allowed_includes(table_text):
    """{module: set of modules it may include}, closed over what the allowed ones may include themselves."""
    direct = {}
    for name, cell in ROW.findall(table_text):
        if name == "module":
            continue
        direct[name] = set(re.findall(r"\w+", cell.split(";")[0])) - {"std", "only"}
    for name, row in direct.items():
        unknown = row - set(direct)
        if unknown:
            raise SystemExit(f"module_table: row {name} allows unknown modules {sorted(unknown)}")
    closed = {}
    for name in direct:
        reach, queue = set(), [name]
        while queue:
            for other in direct[queue.pop()] - reach:
                reach.add(other)
                queue.append(other)
        if name in reach:
            raise SystemExit(f"module_table: the table has a cycle through {name}")
        closed[name] = reach | {name, "core"}
    return closed


def module_of(path):
    """lib/include/orthant/<module>/x.h or lib/src/<module>/x.cc -> module."""
    parts = path.parts
    for anchor in ("orthant", "src"):
        if anchor in parts:
            after = parts[parts.index(anchor) + 1:]
            if len(after) >= 2:
                return after[0]
    return None


def violations(lib, table):
    public = lib / "include"
    for path in sorted([*lib.rglob("*.h"), *lib.rglob("*.cc"), *lib.rglob("*.inc")]):
        relative = path.relative_to(lib)
        module = module_of(relative)
        if module is None:
            yield f"{relative}: lies in no module"
            continue
        if module not in table:
            yield f"{relative}: module {module} is not in the table"
            continue
        for included in INCLUDE.findall(path.read_text(encoding="utf-8")):
            if public in path.parents and FOREIGN.match(included):
                yield f"{relative}: a public header includes <{included}>"
            first, _, rest = included.partition("/")
            target = rest.partition("/")[0] if first == "orthant" else first if first in table and rest else None
            if target is None:
                continue
            if target == "kernels" and public in path.parents:
                yield f"{relative}: a public header includes the private {included}"
            elif target not in table[module]:
                yield f"{relative}: {module} may not include {target} ({included})"


def main(root):
    root = pathlib.Path(root)
    table = allowed_includes((root / "docs" / "modules.md").read_text(encoding="utf-8"))
    found = list(violations(root / "lib", table))
    for line in found:
        print(line)
    print(f"module_table: {len(found)} violations, {len(table)} modules")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
