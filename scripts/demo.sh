#!/usr/bin/env bash
# Installs what is missing, builds the release preset, judges key quantizers on the shipped key-value dump.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/deps.sh
cmake --preset release >/dev/null
cmake --build --preset release --target orthant_cli
exec build/release/apps/orthant kv data/gemma3-270m-512.safetensors --svg build/demo.svg --json build/demo.json "$@"
