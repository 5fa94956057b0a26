#!/usr/bin/env bash
# Measures other libraries beside ours and prints one table of ratios. Makes a virtual environment of its own.
#   bench/peers/run.sh [path of the orthant command]        default: build/release/apps/orthant
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
orthant=${1:-$here/../../build/release/apps/orthant}
venv=${ORTHANT_PEERS_VENV:-$here/../../build/peers-venv}
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
"$venv/bin/pip" install --quiet --requirement "$here/requirements.txt"
# One thread for everybody; BLAS chooses its own kernels.
export OMP_NUM_THREADS=1 RAYON_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE
exec "$venv/bin/python" "$here/peers.py" "$orthant"
