// A tiny sentence encoder in a folder, and a stand-in for the program that jobs start to measure fresh processes.
#pragma once

#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/philox.h"
#include "io/artefact.h"
#include "jobs/load_model.h"
#include "jobs/probe.h"
#include "jobs/quantize_model.h"
#include "report/record.h"
#include "tests/io/temporary_folder.h"
#include "tests/passes/parse_ops.h"
#include "tests/support/tiny_bert.h"

namespace hone {

// A network of which one layer reads its weight behind a slice.
inline constexpr const char* kSliced = R"(graph sliced {
  %x : f32[N,2] = input "x"
  %p : f32[4,2] = const "pair" {1,-1,2,1,0.5,-2,1,1}
  %f = slice %p {starts=[0], ends=[2], axes=[0]}
  %a = linear %x, %f
  %r = relu %a
  %w : f32[2,2] = const "middle" {1,2,-1,1}
  %m = linear %r, %w
  %v : f32[2,2] = const "last" {1,-2,2,1}
  %y = linear %m, %v
  return %y as "logits"
})";

class JobsTest : public testing::Test {
 protected:
  JobsTest() { bert.write(model); }

  // The encoder's weights in `format`, as a file.
  std::string quantized(const std::string& format) const {
    QuantizeOptions options;
    options.to = format;
    const Model source = load_model(model);
    const std::string file = folder / format + ".safetensors";
    save_model(file, quantize_model(source, options, std::nullopt).graph, source);
    return file;
  }

  // A graph's text as a model file.
  std::string put_graph(std::string_view name, std::string_view text) const {
    save_artefact(folder / name, test::parse(text));
    return folder / name;
  }

  // A shell script in place of hone: `body` runs with the arguments of `hone probe`.
  std::string put_program(const std::string& body) const {
    const std::string file = folder.put("program", "#!/bin/sh\n" + body);
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
    return file;
  }
  // It finds an empty --cache the first time, and then takes `cold`; afterwards `warm`.
  std::string put_probed_program(const ProbeResult& cold, const ProbeResult& warm) const {
    folder.put("cold.json", to_json(cold).dump());
    folder.put("warm.json", to_json(warm).dump());
    return put_program(
        "while [ \"$1\" != --cache ]; do shift; done\necho first result\nmkdir -p \"$2\"\n"
        "if [ -e \"$2/seen\" ]; then cat " +
        folder / "warm.json" + "; else touch \"$2/seen\"; cat " + folder / "cold.json" + "; fi\n");
  }

  // What a task is lent: that program for each process.
  static std::function<ProbeResult(const ProbeOptions&)> starts(const std::string& program) {
    return [program](const ProbeOptions& probe) { return probe_in_new_process(program, probe); };
  }

  // Texts of two classes that differ by one word; every fourth is of the split "validation", where there are splits.
  struct Texts {
    int rows = 96;
    bool splits = true;
    std::string file = "texts.csv", yes = "yes", no = "no";
  };
  std::string put_texts(const Texts& texts) const {
    static const std::vector<std::string> kWords = {"the", "and", "that", "with", "from", "this", "were", "some"};
    Philox random(11);
    std::string text = texts.splits ? "text,label,split\n" : "text,label\n";
    for (int i = 0; i < texts.rows; ++i) {
      const bool good = random.below(2) == 1;
      std::vector<std::string> words;
      for (int w = 0; w < 5; ++w) words.push_back(kWords[random.below(8)]);
      words[random.below(5)] = good ? "hot" : "house";
      text += fmt::format("{},{}", fmt::join(words, " "), good ? texts.yes : texts.no);
      text += !texts.splits ? "\n" : i % 4 == 3 ? ",validation\n" : ",train\n";
    }
    return folder.put(texts.file, text);
  }

  TinyBertFolder bert = tiny_bert();
  TemporaryFolder folder;
  std::string model = folder / "model";
};

// Cells of the column `key`, from the top.
inline std::vector<Cell> column(const Table& table, const std::string& key) {
  std::vector<Cell> cells;
  for (size_t c = 0; c < table.columns.size(); ++c)
    if (table.columns[c].key == key)
      for (const auto& row : table.rows) cells.push_back(row[c]);
  return cells;
}
inline Cell cell(const Table& table, const std::string& key, size_t row) { return column(table, key).at(row); }
inline double value_of(const Cell& cell) { return std::get<Number>(cell).value; }
inline std::string text_of(const Cell& cell) { return std::get<std::string>(cell); }
inline bool is_empty(const Cell& cell) { return std::holds_alternative<std::monostate>(cell); }

// The value under `key` of a record's key-values.
inline Cell item(const Record& record, const std::string& block, const std::string& key) {
  const KeyValues* values = find_block<KeyValues>(record, block);
  if (!values) throw Bug("no block " + block);
  for (const KeyValue& value : values->items)
    if (value.key == key) return value.value;
  throw Bug("no item " + key);
}
inline const Table& table_of(const Record& record, const std::string& key) {
  const Table* table = find_block<Table>(record, key);
  if (!table) throw Bug("no table " + key);
  return *table;
}

}  // namespace hone
