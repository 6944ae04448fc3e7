// debian_tsv PACKAGES OUT.tsv [TRAIN TEST SEED]: this machine's Debian packages as a data set, text, label (the
// section), source and split, with no source package in two splits. Prints what is in it and its digests.
//
//   cmake --build --preset release --target debian_tsv
//   apt-cache dumpavail > packages.txt
//   build/release/examples/demo/debian_tsv packages.txt debian.tsv
//   hone train MODEL --data debian.tsv --group-column source -o sections.safetensors
// MODEL: a text classifier or encoder, such as what `make models` fetches.
#include <cstdio>
#include <exception>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/hash.h"
#include "data/dataset_facts.h"
#include "data/reader.h"
#include "examples/demo/debian_packages.h"

namespace {

constexpr int kTrain = 20'000, kTest = 5'000, kSeed = 1;

int number(const char* text) {
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  if (*text == '\0' || *end != '\0' || value < 0 || value > 10'000'000)
    hone::fail("\"{}\" is no number from 0 to 10000000", text);
  return static_cast<int>(value);
}

void write(int argc, char** argv) {
  const std::string packages = argv[1], out = argv[2];
  const int train = argc == 6 ? number(argv[3]) : kTrain, test = argc == 6 ? number(argv[4]) : kTest,
            seed = argc == 6 ? number(argv[5]) : kSeed;
  hone::write_file(out, hone::tsv_of(hone::debian_rows(hone::read_file(packages), packages, train, test,
                                                       static_cast<uint64_t>(seed))));
  const hone::Dataset data = hone::read_dataset(out, {.group = "source"});
  std::printf("%s: %s%s: SHA-256 of the file %s\n", out.c_str(), to_string(check_dataset(data)).c_str(), out.c_str(),
              hone::sha256_of_file(out).c_str());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 && argc != 6) {
    std::fprintf(stderr, "usage: debian_tsv PACKAGES OUT.tsv [TRAIN TEST SEED]\n");
    return 2;
  }
  try {
    write(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "debian_tsv: %s\n", error.what());
    return 1;
  }
  return 0;
}
