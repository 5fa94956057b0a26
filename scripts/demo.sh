#!/usr/bin/env bash
# Installs what is missing, builds the release preset, judges key quantizers on the shipped key-value dump: matched keys
# beside plain ones at 1 to 4 bits, then other formats.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/deps.sh
cmake --preset release >/dev/null
cmake --build --preset release --target orthant_cli
exec build/release/apps/orthant kv data/gemma3-270m-512.safetensors --bits 1-4 --svg build/demo.svg --json build/demo.json "$@"
