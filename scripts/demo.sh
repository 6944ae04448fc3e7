#!/usr/bin/env bash
# The main job on a real model: MiniLM in five formats, judged on the sections of this machine's own Debian packages.
set -euo pipefail
cd "$(dirname "$0")/.."
packages=build/demo/packages.txt
mkdir -p build/demo
apt-cache dumpavail > "$packages"
if ! grep -q '^Section:' "$packages"; then
  echo "demo: the package lists are empty; running apt-get update" >&2
  if [ "$(id -u)" -eq 0 ]; then
    apt-get update -q
  elif command -v sudo >/dev/null; then
    sudo apt-get update -q
  fi
  apt-cache dumpavail > "$packages"
  grep -q '^Section:' "$packages" || { echo "demo: still no package lists; run apt-get update as root" >&2; exit 1; }
fi
build/release/examples/demo/hone_demo demo build/models/all-MiniLM-L6-v2 --packages "$packages" --report build/demo/report.html "$@"
echo "report: build/demo/report.html"
