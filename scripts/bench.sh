#!/usr/bin/env bash
# Every target of the project beside what this machine reaches, in one run; the whole table of kernels is build/release/bench/bench_kernels.
set -euo pipefail
cd "$(dirname "$0")/.."
build/venv/bin/python bench/targets.py build/models/all-MiniLM-L6-v2 build/release --json build/bench/targets.json "$@"
