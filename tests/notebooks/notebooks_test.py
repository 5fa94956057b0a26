"""Makes small reports and executes every notebook on them.

Usage: notebooks_test.py ORTHANT NOTEBOOKS VENV

Fails when a cell raises, when a notebook draws nothing, and when a notebook has no report here. Exit code 77 (skipped)
when the virtual environment cannot be made, and only then.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

REPORTS = {
    "turboquant_figures": ("ORTHANT_FIGURES", ["verify", "figures", "--dim", "256", "--bits", "1-3", "--keys", "40"], 3),
    "league": ("ORTHANT_LEAGUE", ["verify", "league", "--dim", "64", "--bits", "1-4", "--seeds", "3", "--keys", "200",
                                  "--queries", "20"], 4),
}

# Prints for each figure the share of its pixels that have a colour: axes alone have none.
EXECUTE = """
import base64, io, sys, nbformat, nbclient
from PIL import Image
notebook = nbformat.read(sys.argv[1], as_version=4)
nbformat.validate(notebook)
nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
for cell in notebook.cells:
    for output in cell.get("outputs", []):
        if "image/png" in output.get("data", {}):
            image = Image.open(io.BytesIO(base64.b64decode(output["data"]["image/png"]))).convert("RGB")
            coloured = sum(max(pixel) - min(pixel) > 60 for pixel in image.getdata())
            print(coloured / (image.width * image.height))
"""


def environment(folder, requirements):
    """The interpreter of a virtual environment with the requirements; None when it cannot be made."""
    python = folder / "bin" / "python"
    stamp = folder / "requirements.txt"
    if stamp.exists() and stamp.read_text() == requirements.read_text():
        return python
    for command in ([sys.executable, "-m", "venv", str(folder)],
                    [str(python), "-m", "pip", "install", "--quiet", "-r", str(requirements)]):
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError as error:
            print(f"skipped: {error}")
            return None
        if done.returncode != 0:
            print(f"skipped: {' '.join(command)} failed:\n{done.stderr[-2000:]}")
            return None
    stamp.write_text(requirements.read_text())
    return python


def main():
    orthant, notebooks, venv = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    python = environment(venv, notebooks / "requirements.txt")
    if python is None:
        raise SystemExit(77)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for notebook in sorted(notebooks.glob("*.ipynb")):
            variable, arguments, figures = REPORTS[notebook.stem]
            report = folder / f"{notebook.stem}.json"
            subprocess.run([orthant, *arguments, "--json", str(report)], check=True, stdout=subprocess.DEVNULL)
            done = subprocess.run([str(python), "-c", EXECUTE, str(notebook)], capture_output=True, text=True,
                                  check=False, env=dict(os.environ, **{variable: str(report)}))
            if done.returncode != 0:
                raise SystemExit(f"{notebook.name}:\n{done.stderr[-4000:]}")
            coloured = [float(line) for line in done.stdout.splitlines() if line.startswith(("0", "1"))]
            if len(coloured) != figures or min(coloured) < 0.005:
                raise SystemExit(f"{notebook.name}: coloured parts of its figures {coloured}, expected {figures} figures "
                                 "with 0.005 or more")


main()
