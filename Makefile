# Thin names for what one types often; the work is done by CMake, CTest and scripts/.
jobs ?= $(shell nproc)
FUZZ_SECONDS ?= 60
sources = $(shell git ls-files 'python/src/*.h' ':(glob)python/src/*.cc' 'include/*.h' 'src/*.h' 'src/*.cc' 'tests/*.h' 'tests/*.cc' 'bench/*.h' 'bench/*.cc' 'examples/*.h' 'examples/*.cc' 'examples/*.c')

.PHONY: help deps test-deps build test test-full test-python wheel python fuzz demo models bench bench-peers bench-ocr bench-ptq bench-exports bench-families bench-train bench-train-parity bench-attention bench-decoders bench-precisions bench-cuda cuda-bundle bench-search bench-questions bench-ship train train-full labs docs format lint clean

help:
	@echo "make build        build/release/hone"
	@echo "make test         build with warnings as errors and run all tests"
	@echo "make test-full    also every header alone, ONNX's cases without each pass, thousands of random graphs, all tests as on a CPU with AVX2 only and under AddressSanitizer and UBSan, and those with threads under ThreadSanitizer"
	@echo "make test-python  torch.compile(backend='hone') beside eager PyTorch, which scripts/deps.sh python installs"
	@echo "make python       the Python package in build/release/python, to be imported from there"
	@echo "make wheel        the Python package as a wheel in build/wheel, tested in an environment of its own"
	@echo "make fuzz         every parser with a fuzz target, FUZZ_SECONDS each (60); FUZZ='onnx_structure' only those whose names begin so"
	@echo "make demo         a real model quantized, compiled, measured and reported (one to four minutes after the build)"
	@echo "make models       the demo's model in build/models/"
	@echo "make bench        hone beside other systems and the measured peaks: each target, reached or missed"
	@echo "make bench-peers  low-bit layers and convolutional networks beside other systems, into bench/results.md"
	@echo "make bench-ptq    ways of quantizing after training at four bits, and mixed precision, into bench/results.md"
	@echo "make bench-ocr    what is read from rendered text in each number format, into bench/results.md"
	@echo "make bench-exports  networks of torchvision and Hugging Face as PyTorch exports them: opened, run, quantized, reopened, into bench/results.md"
	@echo "make bench-families folders of every family and head: opened, run, trained a step, quantized, reopened; each family beside other systems, into bench/results.md (20 minutes)"
	@echo "make bench-train-parity  small networks trained from their exports, step by step beside PyTorch, into bench/results.md"
	@echo "make bench-train  training steps beside PyTorch, eager and compiled, of adapters, in few bits and by two processes, into bench/results.md"
	@echo "make bench-attention attention beside PyTorch, ONNX Runtime and OpenVINO, into bench/results.md (5 minutes)"
	@echo "make bench-decoders SmolLM2 by hone generate beside llama.cpp and OpenVINO GenAI, into bench/results.md (MODEL=FILE.gguf; 15 minutes)"
	@echo "make bench-cuda   conformance of every kernel on this machine's GPU, then packed products, attention and an encoder beside PyTorch (9 minutes)"
	@echo "make cuda-bundle  the same to take to a machine with a GPU: build/hone-cuda-bundle.tar.xz"
	@echo "make bench-precisions ResNet-18, MiniLM and BERT-base in f32, bf16 and int8 beside other systems, into bench/results.md (15 minutes)"
	@echo "make bench-search studies beside Optuna: what they cost, on a server too, and what samplers find, into bench/results.md (20 minutes)"
	@echo "make bench-questions what searches of the labs and of examples/searches answer, and formats by layer beside hone allocate, into bench/results.md (an hour)"
	@echo "make bench-ship   hone ship beside the one-command flows of ONNX Runtime and NNCF, into bench/results.md (15 minutes a model)"
	@echo "make train        models trained with hone, on text, on images beside PyTorch, and step by step beside PyTorch, then made smaller in each way, into bench/results.md (50 minutes)"
	@echo "make train-full   beside that training with more epochs, and on a folder in the layout of aclImdb"
	@echo "make labs         the labs of the course: reports, figures and tables under build/labs (20 minutes each)"
	@echo "make docs         docs/cli.md from the tables of options"
	@echo "make format lint  clang-format in place; clang-format and clang-tidy as checks"
	@echo "make clean        remove the build folders; downloads stay"

build: deps build/release/CMakeCache.txt
	cmake --build --preset release -j $(jobs) --target hone

# End-to-end tests run the program of the same build.
test: test-deps build/dev/CMakeCache.txt
	test -d build/dev/python || cmake --preset dev
	cmake --build --preset dev -j $(jobs)
	GTEST_BRIEF=1 ctest --test-dir build/dev --output-on-failure -j $(jobs)

test-full: test
	cmake --build build/dev -j $(jobs) --target guard_all_headers
	HONE_TEST_FULL=1 build/dev/tests/test_conformance --gtest_filter='OnnxCases.AreRightWithoutAnyOnePass:*RandomGraphs*'
	HONE_TEST_FULL=1 build/dev/tests/test_study --gtest_filter='*KilledWorkers*'
	HONE_WITHOUT=avx512,avx_vnni GTEST_BRIEF=1 ctest --test-dir build/dev --output-on-failure -j $(jobs) -LE guard
	set -e; for preset in asan-ubsan tsan; do cmake --preset $$preset; cmake --build --preset $$preset -j $(jobs); done
	GTEST_BRIEF=1 ctest --test-dir build/asan-ubsan --output-on-failure -j $(jobs) -LE guard
	GTEST_BRIEF=1 ctest --test-dir build/tsan --output-on-failure -j $(jobs) -L threads

labs: build
	scripts/deps.sh labs
	set -e; for lab in 0 1 2 3 4; do build/release/hone lab $$lab -o build/labs/lab-$$lab; done

test-python: python
	scripts/deps.sh python
	PYTHONPATH=build/release/python build/venv/bin/python -B -m unittest discover -v -s tests/python_torch

python: test-deps build/release/CMakeCache.txt
	test -d build/release/python || cmake --preset release
	cmake --build --preset release -j $(jobs) --target _hone

# Libraries that not every system has go into the wheel, whose name says which systems it runs on.
wheel: test-deps
	@scripts/deps.sh wheel
	rm -rf build/wheel/raw && mkdir -p build/wheel/raw
	build/venv-test/bin/python -m pip wheel python --no-build-isolation --no-deps --disable-pip-version-check -w build/wheel/raw -C build-dir=build/wheel/build
	PATH=$(CURDIR)/build/venv-test/bin:$$PATH auditwheel repair build/wheel/raw/*.whl -w build/wheel
	scripts/test_wheel.sh build/wheel/hone_compress-*.whl

docs: build
	build/release/hone help --as markdown > docs/cli.md.new
	mv docs/cli.md.new docs/cli.md

fuzz:
	scripts/deps.sh tools
	cmake --preset fuzz
	cmake --build --preset fuzz -j $(jobs)
	scripts/fuzz.sh $(FUZZ_SECONDS) $(FUZZ)

demo: build models
	cmake --build --preset release -j $(jobs) --target hone_demo
	scripts/demo.sh

models:
	scripts/deps.sh demo

bench: build models
	scripts/deps.sh peers
	cmake --build --preset release -j $(jobs) --target bench
	scripts/bench.sh

bench-ptq: build models
	scripts/deps.sh peers
	cmake --build --preset release -j $(jobs) --target hone_demo
	test -e build/models/fashion-cnn/cnn.onnx || build/venv/bin/python bench/peers/train_cnn.py build/models/fashion-cnn
	build/venv/bin/python bench/post_training.py build/release/hone
	build/venv/bin/python bench/mixed_precision.py build/release/examples/demo/hone_demo

bench-exports: build
	scripts/deps.sh peers
	build/venv/bin/python bench/peers/exports.py build/release/hone

bench-families: build
	scripts/deps.sh peers
	build/venv/bin/python bench/peers/folders.py build/release/hone --make
	build/venv/bin/python bench/peers/folders.py build/release/hone

bench-train: build models
	scripts/deps.sh peers
	scripts/deps.sh test
	cmake --build --preset release -j $(jobs) --target bench_train_step
	build/venv/bin/python bench/train.py build/release/bench/bench_train_step --record

bench-train-parity: build
	scripts/deps.sh peers
	build/venv/bin/python bench/peers/train_exports.py build/release/hone --record

bench-precisions: build models
	scripts/deps.sh peers
	build/venv/bin/python bench/peers/precisions.py build/release/hone --record

bench-attention: build
	scripts/deps.sh peers
	build/venv/bin/python bench/attention.py build/release/hone --record

bench-decoders: build
	test -e "$(MODEL)" || { echo "make bench-decoders MODEL=FILE.gguf: a decoder in a GGUF file, SmolLM2-135M-Instruct.Q4_1.gguf for example"; exit 1; }
	scripts/deps.sh peers
	build/venv/bin/pip install --quiet llama-cpp-python==0.3.36 gguf==0.19.0 openvino-genai==2026.4.1
	build/venv/bin/python bench/decoders.py build/release/hone "$(MODEL)" --record

bench-cuda: build
	cmake --build --preset release -j $(jobs) --target test_conformance
	python3 bench/cuda.py build/release/hone build/release/tests/test_conformance --markdown build/bench-cuda.md

cuda-bundle: build
	cmake --build --preset release -j $(jobs) --target test_conformance
	scripts/cuda_bundle.sh build/release

bench-search: build
	scripts/deps.sh peers
	cmake --build --preset release -j $(jobs) --target bench_search study_worker
	build/venv/bin/python bench/peers/optuna_interop.py build/release/bench/study_worker
	build/venv/bin/python bench/search.py build/release/bench/bench_search --record
	build/venv/bin/python bench/search_quality.py build/release/bench/bench_search --record

bench-ship: build models
	scripts/deps.sh peers
	test -e build/models/fashion-cnn/cnn.onnx || build/venv/bin/python bench/peers/train_cnn.py build/models/fashion-cnn
	build/venv/bin/python bench/peers/ship.py build/release/hone --record

bench-questions: build models
	cmake --build --preset release -j $(jobs) --target debian_tsv
	scripts/deps.sh labs
	examples/labs/lab3/train.sh build/release/hone
	apt-cache dumpavail > build/searches/packages.txt
	build/release/examples/demo/debian_tsv build/searches/packages.txt build/searches/debian.tsv
	python3 bench/questions.py build/release/hone --record
	python3 bench/search_precision.py build/release/hone --record

train: build models
	scripts/deps.sh peers
	cmake --build --preset release -j $(jobs) --target debian_tsv
	build/venv/bin/python bench/training.py build/release/hone build/release/examples/demo/debian_tsv
	build/venv/bin/python bench/compression.py build/release/hone

train-full: train
	build/venv/bin/python bench/training.py build/release/hone build/release/examples/demo/debian_tsv --full

bench-peers bench-ocr: build
	scripts/deps.sh ocr
	scripts/deps.sh peers
	for part in $(if $(filter %ocr,$@),ocr,low_bit_linear networks); do build/venv/bin/python bench/peers/$$part.py build/release/hone || exit 1; done

format:
	scripts/deps.sh tools
	clang-format -i $(sources)

lint: build/dev/CMakeCache.txt
	scripts/deps.sh tools
	clang-format --dry-run -Werror $(sources)
	run-clang-tidy -quiet -j $(jobs) -p build/dev '/src/.*\.cc$$'

clean:
	rm -rf build/release build/dev build/asan-ubsan build/tsan build/fuzz build/wheel

deps:
	@scripts/deps.sh build

test-deps:
	@scripts/deps.sh test

build/%/CMakeCache.txt: | deps
	cmake --preset $*
