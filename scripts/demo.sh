#!/usr/bin/env bash
# The main job on a real model: MiniLM in five formats, judged on the sections of this machine's own Debian packages.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p build/demo
apt-cache dumpavail > build/demo/packages.txt
if ! grep -q '^Section:' build/demo/packages.txt; then
  echo "demo: the package lists are empty; run apt-get update and try again" >&2
  exit 1
fi
build/release/hone demo build/models/all-MiniLM-L6-v2 --packages build/demo/packages.txt --report build/demo/report.html "$@"
echo "report: build/demo/report.html"
