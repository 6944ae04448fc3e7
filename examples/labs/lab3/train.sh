#!/bin/sh
# Makes build/searches/fashion.safetensors, the trained network of precision.toml, formats.toml and lambda.toml:
#   examples/labs/lab3/train.sh build/release/hone
# A second argument names other data than the Debian package dataset-fashion-mnist brings.
set -e
hone=${1:-hone}
data=${2:-/usr/share/datasets/fashion-mnist}
out=$(dirname "$0")/../../../build/searches
mkdir -p "$out"
"$hone" build convnet --set "widths=[8,16,32]" --set num_channels=1 --set image_size=28 -o "$out/new.safetensors"
"$hone" train "$out/new.safetensors" --data "$data" --validation-fraction 0.05 --epochs 1 \
  --batch 64 --rate 3e-3 --schedule cosine --threads 2 --folder "$out/fashion.run" -o "$out/fashion.safetensors"
rm -r "$out/new.safetensors" "$out/fashion.run"
