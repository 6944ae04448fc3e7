#!/usr/bin/env bash
# Writes python/hone/_hone.pyi, what type checkers see of the module, from the package in FOLDER.
#   python/stubs.sh build/dev/python
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
package=$(cd "${1:?the folder that has the package}" && pwd)
python=${PYTHON:-$here/../build/venv-test/bin/python}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
PYTHONPATH=$package "$python" -B -m nanobind.stubgen -q -m hone._hone -P -p "$here/stubs.pattern" -o _hone.pyi
mv _hone.pyi "$here/hone/_hone.pyi"
