#!/bin/sh
# Records A/A comparisons for tests/measure: a model against itself, in RUNS processes one after the other, with
# whatever else the machine does meanwhile. Each is one comparison as `hone bench` makes it, of which the first eight
# rounds of each placement are kept; the test counts in how many a difference would be claimed.
set -eu
if [ $# -lt 3 ]; then
  echo "usage: scripts/record_aa.sh MODEL RUNS FILE.csv [options of hone bench]" >&2
  exit 2
fi
model=$1 runs=$2 file=$3
shift 3
rounds=$(mktemp)
trap 'rm -f "$rounds"' EXIT
echo "run,placement,first_ns,second_ns" > "$file"
for run in $(seq "$runs"); do
  ${HONE:-build/release/hone} bench "$model" "$model" --no-probe --seed "$run" --samples "$rounds" "$@" > /dev/null
  awk -F, -v run="$run" 'NR > 1 && kept[$1]++ < 8 { print run "," $0 }' "$rounds" >> "$file"
done
