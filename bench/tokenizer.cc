// bench_tokenizer TOKENIZER reference.jsonl [text-file]: a tokenizer.json, or a folder with a tokenizer's files. How
// many texts get the reference's ids, and, where the reference has them, what tokens cover and the text of ids
// (bench/peers/tokenizer_reference.py and tokenizers_parity.py write references); how many texts a second are
// tokenised, and how long it takes to open. With a text file: its lines' MB a second, on one thread. Exits with 1 when
// any text differs.
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <vector>

#include "base/atomic_file.h"
#include "base/utf8.h"
#include "io/tokenizer_files.h"
#include "tests/support/token_reference.h"
#include "tokenizers/tokenizer.h"

namespace {

using namespace hone;

// Of the thread, so that what else runs does not count.
double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

template <class Work>
double seconds(Work work) {
  const double start = cpu_seconds();
  work();
  return cpu_seconds() - start;
}

std::map<std::string, std::string> files_of(const std::string& path) {
  std::map<std::string, std::string> files;
  if (!std::filesystem::is_directory(path)) return {{kTokenizerJson, read_file(path)}};
  for (const auto& entry : std::filesystem::directory_iterator(path))
    if (entry.is_regular_file() && entry.path().extension() != ".jsonl")
      files[entry.path().filename().string()] = read_file(entry.path().string());
  return files;
}

std::string differs(const Tokenizer& tokenizer, const TokenReference& r) {
  const Tokens tokens = tokenizer.encode_text(r.text, EncodeOptions{.ranges = !r.ranges.empty()});
  if (tokens.ids != r.ids || tokenizer.encode(r.text, 0) != r.ids)
    return fmt::format("ids {} for {}", fmt::join(tokens.ids, " "), fmt::join(r.ids, " "));
  if (!r.ranges.empty()) {
    const std::vector<TextRange> ranges = in_characters(r.text, tokens.ranges);
    for (size_t i = 0; i < ranges.size(); ++i)
      if (!(ranges[i] == r.ranges[i]))
        return fmt::format("token {}, id {}, covers {}-{} for {}-{}", i, r.ids[i], ranges[i].begin, ranges[i].end,
                           r.ranges[i].begin, r.ranges[i].end);
  }
  if (!r.decoded) return "";
  const std::string text = tokenizer.decode(r.decoded_ids, true);
  return text == *r.decoded ? "" : fmt::format("decoded {:?} for {:?}", text, *r.decoded);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3 || argc > 4) {
    fmt::print(stderr, "usage: bench_tokenizer tokenizer.json|folder reference.jsonl [text-file]\n");
    return 2;
  }
  const auto files = files_of(argv[1]);
  const Tokenizer tokenizer = Tokenizer::from_files(files, argv[1]);
  std::vector<double> opening;
  for (int i = 0; i < 7; ++i) opening.push_back(seconds([&] { Tokenizer::from_files(files, argv[1]); }));
  std::ranges::sort(opening);
  const std::vector<TokenReference> references = read_token_references(argv[2]);
  size_t same = 0;
  for (const TokenReference& r : references) {
    const std::string difference = differs(tokenizer, r);
    same += difference.empty();
    if (!difference.empty()) fmt::print(stderr, "{:?}: {}\n", r.text, difference);
  }
  const double elapsed = seconds([&] {
    for (const TokenReference& r : references) tokenizer.encode(r.text, 0);
  });
  fmt::print("{{\"texts\": {}, \"same\": {}, \"texts_per_second\": {:.0f}, \"open_ms\": {:.2f}", references.size(),
             same, static_cast<double>(references.size()) / elapsed, opening[opening.size() / 2] * 1e3);
  if (argc == 4) {
    const std::string text = read_file(argv[3]);
    std::vector<std::string_view> lines;
    for (std::string_view rest = text; !rest.empty();
         rest.remove_prefix(lines.back().size() + (lines.back().size() < rest.size())))
      lines.push_back(rest.substr(0, rest.find('\n')));
    std::vector<double> runs, ranged;
    for (int i = 0; i < 3; ++i) {
      runs.push_back(seconds([&] {
        for (const std::string_view line : lines) tokenizer.encode(line, 0);
      }));
      ranged.push_back(seconds([&] {
        for (const std::string_view line : lines) tokenizer.encode_text(line, EncodeOptions{.ranges = true});
      }));
    }
    const double mb = static_cast<double>(text.size()) / 1e6;
    fmt::print(", \"mb_per_second\": {:.1f}, \"mb_per_second_with_ranges\": {:.1f}", mb / std::ranges::min(runs),
               mb / std::ranges::min(ranged));
  }
  fmt::print("}}\n");
  return same == references.size() ? 0 : 1;
}
