#!/usr/bin/env bash
# Measures other libraries beside ours and prints tables of ratios: the peers go into a virtual environment of their own.
#   bench/peers/run.sh [options of peers.py]            for example --keys 64 --rounds 3; default: what the docs show
#   ORTHANT_PEERS_GGML=0 bench/peers/run.sh             leaves ggml out, whose libraries are compiled for ten minutes
# Builds what it needs of Orthant in build/release. A library that cannot be installed is named and left out.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
here=$root/bench/peers
venv=${ORTHANT_PEERS_VENV:-$root/build/peers-venv}

cmake -S "$root" --preset release -DORTHANT_BUILD_BENCH=ON >/dev/null
cmake --build "$root/build/release" --target orthant_peers

[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
install() {  # each by itself: one that fails does not cost the others
  "$venv/bin/pip" install --quiet "$@" >"$venv/install.log" 2>&1 && return
  echo "run.sh: could not install $*:" >&2
  grep -i error "$venv/install.log" | head -n 5 >&2 || tail -n 5 "$venv/install.log" >&2
}
while read -r package; do install "$package"; done <"$here/requirements.txt"
if [ "${ORTHANT_PEERS_GGML:-1}" != 0 ]; then
  # From source, for this machine's own instructions; only its ggml libraries are used.
  CMAKE_ARGS="-DGGML_NATIVE=ON -DLLAVA_BUILD=OFF -DLLAMA_CURL=OFF" install --no-binary llama-cpp-python llama-cpp-python==0.3.36
fi

# One thread for everybody; BLAS chooses its own kernels.
export OMP_NUM_THREADS=1 RAYON_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE
[ $# -gt 0 ] || set -- --keys 128 --keys 64 --keys "$root/data/gemma3-270m-512.safetensors"
exec "$venv/bin/python" "$here/peers.py" --library "$root/build/release/bench/liborthant_peers.so" "$@"
