// Each family's tokenizer against the Hugging Face library: ids, what tokens cover, and text made from ids
// (bench/peers/tokenizers_parity.py --small writes tests/data/tokenizer/families).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/atomic_file.h"
#include "base/utf8.h"
#include "tests/support/error_of.h"
#include "tests/support/paths.h"
#include "tests/support/token_reference.h"
#include "tokenizers/registry.h"
#include "tokenizers/text_stream.h"
#include "tokenizers/tokenizer.h"

namespace hone {
namespace {

namespace fs = std::filesystem;
using test::error_of;
using Files = std::map<std::string, std::string>;

const std::string kFamilies = std::string(test::kTestData) + "/tokenizer/families";

std::vector<std::string> families() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(kFamilies)) names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

Files files_of(const std::string& folder) {
  Files files;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.is_regular_file() && entry.path().extension() != ".jsonl")
      files[entry.path().filename().string()] = read_file(entry.path().string());
  return files;
}

std::vector<TokenReference> texts_of(const std::string& family) {
  return read_token_references(kFamilies + "/" + family + "/texts.jsonl");
}

class Family : public testing::TestWithParam<std::string> {};

TEST_P(Family, IsEqualToTheReference) {
  const std::string folder = kFamilies + "/" + GetParam();
  std::vector<std::string> folders{folder};
  if (fs::exists(folder + "/old")) folders.push_back(folder + "/old");  // the same from files of before tokenizer.json
  for (const std::string& each : folders) {
    const Tokenizer tokenizer = Tokenizer::from_files(files_of(each), each);
    for (const TokenReference& r : texts_of(GetParam())) {
      const Tokens tokens = tokenizer.encode_text(r.text, EncodeOptions{.ranges = true});
      EXPECT_EQ(tokens.ids, r.ids) << each << ": " << r.text;
      EXPECT_EQ(tokenizer.encode(r.text, 0), r.ids) << each << ": " << r.text;
      EXPECT_EQ(in_characters(r.text, tokens.ranges), r.ranges) << each << ": " << r.text;
      EXPECT_EQ(tokenizer.decode(r.decoded_ids, true), *r.decoded) << each;
    }
  }
}

// A conversion says the same as the tokenizer.json that it is written as.
TEST_P(Family, OlderFilesAreWrittenAsATokenizerJson) {
  const std::string old = kFamilies + "/" + GetParam() + "/old";
  if (!fs::exists(old)) return;
  Files files = files_of(old);
  const std::string json = tokenizer_json_of(files, "old");
  const Tokenizer before = Tokenizer::from_files(files, "old"), after = Tokenizer::from_json(json, "new");
  for (const TokenReference& r : texts_of(GetParam())) EXPECT_EQ(before.encode(r.text, 0), after.encode(r.text, 0));
}

TEST_P(Family, StreamsWholeCharacters) {
  const Tokenizer tokenizer = Tokenizer::from_files(files_of(kFamilies + "/" + GetParam()), "t");
  for (const TokenReference& r : texts_of(GetParam())) {
    TextStream stream = tokenizer.stream(true);
    std::string text;
    for (const int64_t id : r.decoded_ids) {
      const std::string part = stream.add(id);
      EXPECT_TRUE(is_valid_utf8(part));
      text += part;
    }
    EXPECT_EQ(text + stream.finish(), *r.decoded);
  }
}

// Bytes that are no UTF-8 are U+FFFD, each maximal part of them one, and a token of it covers those bytes.
TEST_P(Family, ReadsInvalidUtf8AsReplacementCharacters) {
  const Tokenizer tokenizer = Tokenizer::from_files(files_of(kFamilies + "/" + GetParam()), "t");
  const std::string broken = "a\xe2\x82 b\xff", repaired = "a\ufffd b\ufffd";
  const Tokens tokens = tokenizer.encode_text(broken, EncodeOptions{.ranges = true});
  EXPECT_EQ(tokens.ids, tokenizer.encode(repaired, 0));
  for (const TextRange& range : tokens.ranges) EXPECT_LE(range.end, std::ssize(broken));
}

// Damaged in any byte, a file is an error or another tokenizer, and nothing else.
TEST_P(Family, DamagedFilesAreErrorsThatNameThem) {
  for (const char* place : {"", "/old"}) {
    const std::string folder = kFamilies + "/" + GetParam() + place;
    if (!fs::exists(folder)) continue;
    const Files files = files_of(folder);
    for (const auto& [name, content] : files)
      for (size_t i = 0; i < 60; ++i) {
        Files damaged = files;
        const size_t at = (i * 7919 + 13) % content.size();
        if (i % 2 == 0) damaged[name].resize(at);
        else damaged[name][at] = static_cast<char>(damaged[name][at] ^ (1 << i % 7));
        const std::string error = error_of([&] {
          const Tokenizer tokenizer = Tokenizer::from_files(damaged, "folder");
          tokenizer.encode_text("Some words, 12 of them: é中\xff", EncodeOptions{.ranges = true});
        });
        const bool says_where = error.empty() || error.find("folder") != std::string::npos;
        EXPECT_TRUE(says_where || error.starts_with("the tokenizer has no token")) << name << " " << i << ": " << error;
      }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Family, testing::ValuesIn(families()), [](const auto& info) { return info.param; });

TEST(TokenizerKinds, EveryFamilyIsOfExactlyOne) {
  std::set<std::string> used;
  for (const std::string& family : families()) {
    const TokenizerJson json = read_tokenizer_json(read_file(kFamilies + "/" + family + "/tokenizer.json"), family);
    int kinds = 0;
    for (const TokenizerDef* def : tokenizers::all()) kinds += def->recognises(json.root);
    EXPECT_EQ(kinds, 1) << family;
    used.insert(tokenizer_kind(json.root, family).name);
  }
  for (const char* name : {"wordpiece", "byte_bpe", "bpe", "unigram"}) EXPECT_TRUE(used.contains(name)) << name;
}

}  // namespace
}  // namespace hone
