#!/usr/bin/env bash
# Installs what is missing, builds the release preset, runs the default tests.
#   scripts/test.sh                 the default suite
#   scripts/test.sh --preset asan   the same under another preset (dev, asan, tsan, clang)
#   scripts/test.sh -L slow         anything else goes to ctest: here the slow tests alone
set -euo pipefail
cd "$(dirname "$0")/.."

preset=release
if [ "${1:-}" = --preset ]; then
  preset=${2:?usage: scripts/test.sh [--preset NAME] [ctest arguments]}
  shift 2
fi
scripts/deps.sh
cmake --preset "$preset" >/dev/null
cmake --build --preset "$preset"
if [ $# -eq 0 ]; then
  set -- -LE slow
fi
exec ctest --test-dir "build/$preset" --output-on-failure --parallel "$(nproc)" "$@"
