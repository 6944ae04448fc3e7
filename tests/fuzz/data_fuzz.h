// What the fuzz targets of data sets share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "base/memory_limit.h"
#include "data/batches.h"
#include "data/data_options.h"
#include "data/dataset_facts.h"

namespace hone::fuzz {

inline std::string_view text_of(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// Reads, checks and makes every batch, as training does. Errors may end any of it; nothing else may.
template <class Read>
int exercise_dataset(Read read) {
  set_memory_limit(memory_charged() + (256 << 20));
  try {
    Dataset data = read();
    DatasetFacts facts = check_dataset(data);
    to_string(facts);
    data = usable_rows(std::move(data), facts, true);
    std::vector<int64_t> rows;
    for (int64_t row = 0; row < std::min<int64_t>(data.rows, 64); ++row) rows.push_back(row);
    const Tokenizer tokenizer = Tokenizer::from_vocab("[UNK]\n[CLS]\n[SEP]\n[PAD]\na\n##b\n", true, "vocab.txt");
    std::optional<TokenRows> tokens;
    if (!data.texts.empty() || !data.words.empty()) tokens.emplace(data, tokenizer, 16);
    const Batches batches(data, rows, {.order = {.batch = 8}, .images = {.height = 5, .width = 4, .flip = true}},
                          tokens ? &*tokens : nullptr, &tokenizer.spec());
    const EpochPlan plan = batches.plan(0);
    for (int64_t i = 0; i < std::ssize(plan); ++i) batches.make(plan, 0, i);
  } catch (const Error&) {
  }
  return 0;
}

// The first byte chooses among ways to read the rest, so that all of them are reached.
inline DataOptions options_of(uint8_t choice) {
  DataOptions options;
  if (choice & 1) options.no_header = true, options.text = "1";
  if (choice & 2) options.label = options.no_header ? "2" : "b";
  else if (choice & 4) options.labels = options.no_header ? "2" : "b";
  else if (choice & 8) options.target = options.no_header ? "2" : "b";
  if (choice & 16) options.classes = {"x", "y"};
  return options;
}

}  // namespace hone::fuzz
