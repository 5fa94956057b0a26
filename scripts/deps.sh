#!/usr/bin/env bash
# The one list of system packages (Debian 12). Installs what is missing; does nothing when nothing is.
#   scripts/deps.sh         what building, testing and the demo need
#   scripts/deps.sh --all   also what developers use: clang 19, cross compiler, emulator, profiler, browser
set -euo pipefail

needed=(
  cmake ninja-build g++ git python3 rsync       # build
  libboost-dev                             # Boost.Math, Boost.Multiprecision
  libeigen3-dev                            # QR for Haar rotations
  libopenblas-dev                          # batched rotation
  librandom123-dev                         # counter-based streams
  libtbb-dev                               # parallel loops
  libssl-dev                               # SHA-256 of the inputs of a report
  nlohmann-json3-dev libfmt-dev libcli11-dev
  libopenmpi-dev openmpi-bin               # many machines
  libflint-arb-dev libflint-dev            # rigorous enclosures of the codebooks
  libgtest-dev libgmock-dev libbenchmark-dev
  gnuplot-nox                              # plots
  clang-format                             # .ci/run checks the formatting
)
developers=(
  clang-19 clang-tidy-19 libclang-rt-19-dev
  g++-aarch64-linux-gnu qemu-user          # NEON kernels, built and run on x86
  ccache linux-perf valgrind
  chromium                              # the browser test of HTML reports
  python3-venv                          # the notebooks test
)

packages=("${needed[@]}")
case "${1:-}" in
  "") ;;
  --all) packages+=("${developers[@]}") ;;
  *) echo "usage: scripts/deps.sh [--all]" >&2; exit 2 ;;
esac

missing=()
for package in "${packages[@]}"; do
  [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

sudo=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "deps.sh: install as root: ${missing[*]}" >&2; exit 1; }
  sudo=(sudo)
fi
echo "deps.sh: installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
"${sudo[@]}" apt-get update -qq
"${sudo[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
