#!/usr/bin/env bash
# Runs the fuzz programs of build/fuzz whose names begin with one of $2 … (all), each for $1 seconds (60), starting from the
# small files of libonnx-testdata and of tests/data/onnx.tar, those of write_*_seeds, and what earlier runs have found worth keeping, in
# build/fuzz/corpus/. An input that breaks a program stays in build/fuzz/, named in its output.
set -euo pipefail
root=$(realpath "$(dirname "$0")/..")
cd "$root/build/fuzz"
export UBSAN_OPTIONS=print_stacktrace=1
seconds=${1:-60}
shift || true
cases=(/usr/share/libonnx-testdata/data "$PWD/tests/data/onnx")

# Copies the files of a kind that have at most 2 KB; libFuzzer looks into folders of folders.
seeds() {
  local ending=$1 folder=$2
  mkdir -p "$folder"
  find "${cases[@]}" -type f -name "*.$ending" -size -2049c -exec cp --parents -t "$folder" {} +
}

wanted=("${@:-}")
for program in $(printf "tests/fuzz/%s*_fuzz\n" "${wanted[@]}"); do
  corpus=corpus/$(basename "$program")
  case $program in
    *onnx_model*)
      seeds onnx "$corpus/seeds"
      protoc --proto_path="$root/src" --encode=hone.onnx.ModelProto io/onnx/onnx.proto \
        <"$root/tests/fuzz/onnx_model.textproto" >"$corpus/seeds/textproto"
      ;;
    *onnx_structure*) seeds onnx "$corpus/seeds" ;;
    *artefact_structure*)
      mkdir -p "$corpus/seeds"
      tests/fuzz/write_artefact_seeds "$corpus/seeds" tests/data/onnx/*/model.onnx
      ;;
    *peft*)
      mkdir -p "$corpus/seeds"
      tests/fuzz/write_peft_seeds "$corpus/seeds"
      ;;
    *gguf*)
      mkdir -p "$corpus/seeds"
      tests/fuzz/write_gguf_seeds "$corpus/seeds"
      ;;
    *onnx_tensor*) seeds pb "$corpus/seeds" ;;
    *journal*)
      mkdir -p "$corpus/seeds"
      cp "$root"/tests/fuzz/journal_*.log "$corpus/seeds"
      ;;
    *ptx*)
      mkdir -p "$corpus/seeds"
      cp "$root"/tests/fuzz/*.ptx "$corpus/seeds"
      ;;
    *template*)
      mkdir -p "$corpus/seeds"
      cp "$root"/tests/fuzz/*.jinja "$corpus/seeds"
      ;;
    *data_*)
      mkdir -p "$corpus/seeds"
      kind=${program##*data_}
      tests/fuzz/write_data_seeds "${kind%_fuzz}" "$corpus/seeds"
      ;;
  esac
  mkdir -p "$corpus/found"
  "$program" -max_total_time="$seconds" -max_len=16384 -rss_limit_mb=2048 -timeout=10 -detect_leaks=0 -print_final_stats=1 \
    "$corpus/found" "$corpus/seeds"
done
