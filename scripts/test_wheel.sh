#!/usr/bin/env bash
# Installs a wheel of the Python package into an environment of its own and runs the tests of the package on it.
#   scripts/test_wheel.sh build/wheel/hone_compress-0.1.0-cp311-cp311-linux_x86_64.whl
set -euo pipefail
cd "$(dirname "$0")/.."
wheel=${1:?the wheel}
environment=build/venv-wheel
rm -rf "$environment"
"${PYTHON:-build/venv-test/bin/python}" -m venv "$environment"
"$environment/bin/python" -m pip install -q --disable-pip-version-check "$wheel"

size=$(stat -c %s "$wheel")
[ "$size" -le $((25 << 20)) ] || { echo "test_wheel.sh: $wheel has $size bytes; 25 MiB are the limit" >&2; exit 1; }
output=$(cd tests/python && PYTHONDONTWRITEBYTECODE=1 "../../$environment/bin/python" -m unittest \
  test_docs test_formats test_graph test_process test_session test_tasks test_tensor test_startup 2>&1) || { echo "$output"; exit 1; }
if grep "nanobind: leaked" <<<"$output"; then exit 1; fi
echo "test_wheel.sh: $wheel is right ($((size >> 20)) MiB)"
