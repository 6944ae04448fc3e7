// bench_tokenizer tokenizer.json reference.jsonl: how many texts get the reference's ids
// (bench/peers/tokenizer_reference.py writes them), and how many texts a second are tokenised. Exits with 1 when any
// differs.
#include <fmt/format.h>

#include <chrono>

#include "base/atomic_file.h"
#include "data/tokenizer.h"
#include "tests/support/token_reference.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: bench_tokenizer tokenizer.json reference.jsonl\n");
    return 2;
  }
  const hone::Tokenizer tokenizer = hone::Tokenizer::from_json(hone::read_file(argv[1]), argv[1]);
  const std::vector<hone::TokenReference> references = hone::read_token_references(argv[2]);
  size_t same = 0;
  const auto start = std::chrono::steady_clock::now();
  for (const hone::TokenReference& r : references) same += tokenizer.encode(r.text, 0) == r.ids;
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  fmt::print("{{\"texts\": {}, \"same\": {}, \"texts_per_second\": {:.0f}}}\n", references.size(), same,
             static_cast<double>(references.size()) / elapsed.count());
  return same == references.size() ? 0 : 1;
}
