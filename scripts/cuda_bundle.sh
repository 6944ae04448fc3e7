#!/usr/bin/env bash
# Packs what bench/cuda.py needs into build/hone-cuda-bundle.tar.xz: the program, the conformance tests, their shared libraries beside
# glibc's, and the script. The machine that unpacks it needs NVIDIA's driver, glibc of this version or newer, and Python 3.9.
# usage: cuda_bundle.sh BUILD        (a build folder with the targets hone and test_conformance)
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1 name=hone-cuda-bundle
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/$name"/{bin,lib}
for program in "$build/hone" "$build/tests/test_conformance"; do
  strip -o "$folder/$name/bin/$(basename "$program")" "$program"
  ldd "$program" | awk '$3 ~ /^\// { print $3 }' | grep -vE '/(libc|libm|libdl|librt|libpthread|ld-linux[^/]*)\.so' | sort -u | xargs -r cp -Lt "$folder/$name/lib"
done
cp bench/cuda.py LICENSE NOTICE "$folder/$name"
cat >"$folder/$name/run" <<'RUN'
#!/bin/sh
# Runs the conformance tests and the table of bench/cuda.py on this machine's GPU: ./run [options of cuda.py]
cd "$(dirname "$0")" && LD_LIBRARY_PATH=$PWD/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} exec python3 cuda.py bin/hone bin/test_conformance "$@"
RUN
chmod +x "$folder/$name/run"
python3 -c 'import shutil, sys; shutil.make_archive(*sys.argv[1:])' "build/$name" xztar "$folder" "$name"
bytes=$(stat -c %s "build/$name.tar.xz")
echo "build/$name.tar.xz: $((bytes / 1000000)) MB, for glibc $(ldd --version | sed -n '1s/.* //p') or newer. There: python3 -m tarfile -e $name.tar.xz && $name/run"
[ "$bytes" -le 60000000 ] || { echo "cuda_bundle.sh: larger than 60 MB" >&2 && exit 1; }
