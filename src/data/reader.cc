#include "data/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <numeric>

#include "base/error.h"
#include "base/registry.h"
#include "base/text.h"
#include "data/append_rows.h"
#include "data/registry.h"
#include "data/splits.h"

namespace hone {
namespace {

// What read_dataset itself looks at, whichever reader reads.
constexpr std::array<std::string_view, 6> kForAll = {"format",     "validation-file",     "test-file",
                                                     "split-seed", "validation-fraction", "test-fraction"};

std::string list_readers() {
  std::string lines;
  for (const ReaderDef* reader : data::all())
    lines += fmt::format("\n  {:<12} {} (e.g. {})", reader->name, reader->doc, reader->example);
  return lines;
}

const ReaderDef& find_reader(const std::string& path, const std::string& format) {
  if (!format.empty()) {
    if (const ReaderDef* named = find_def(data::all(), format)) return *named;
    fail("no reader is called \"{}\"{}. There are{}", format, did_you_mean(format, names_of(data::all())),
         list_readers());
  }
  if (!std::filesystem::exists(path)) fail("{}: there is no such file or folder", path);
  const ReaderDef* found = nullptr;
  for (const ReaderDef* reader : data::all()) {
    if (!reader->recognises(path)) continue;
    if (found) fail("{}: may be {} or {}; say which with --format", path, found->name, reader->name);
    found = reader;
  }
  if (!found) fail("{}: no reader recognises it; name one with --format. There are{}", path, list_readers());
  return *found;
}

void check_options(const ReaderDef& reader, const DataOptions& options) {
  const DataOptions unset;
  for (const OptionField<DataOptions>& field : DataOptions::fields()) {
    const bool is_given = std::visit([&](auto member) { return options.*member != unset.*member; }, field.member);
    if (!is_given || std::ranges::find(kForAll, field.name) != kForAll.end() ||
        std::ranges::find(reader.options, std::string_view(field.name)) != reader.options.end())
      continue;
    fail("option {} means nothing for data of format {}, which takes {}", field.name, reader.name,
         reader.options.empty() ? "none" : fmt::format("{}", fmt::join(reader.options, ", ")));
  }
}

// All rows, where the file states no splits, are of the split that it was given for.
Dataset read_one(const ReaderDef& reader, const std::string& path, const DataOptions& options, const char* split) {
  Dataset data = reader.read(path, options);
  if (data.rows == 0) fail("{}: has no rows", path);
  if (!split) return data;
  if (!data.splits.empty())
    fail("{}: states splits of its own ({}), so it can't be the data of split {} alone", path, data.splits[0].name,
         split);
  data.splits.push_back({split, std::vector<int64_t>(static_cast<size_t>(data.rows))});
  std::iota(data.splits[0].rows.begin(), data.splits[0].rows.end(), 0);
  return data;
}

}  // namespace

Dataset read_dataset(const std::string& path, const DataOptions& options) {
  const ReaderDef& reader = find_reader(path, options.format);
  check_options(reader, options);
  const bool has_more = !options.validation_file.empty() || !options.test_file.empty();
  Dataset data = read_one(reader, path, options, has_more ? "train" : nullptr);
  if (!options.validation_file.empty())
    append_rows(data, read_one(reader, options.validation_file, options, "validation"));
  if (!options.test_file.empty()) append_rows(data, read_one(reader, options.test_file, options, "test"));
  const auto seed = static_cast<uint64_t>(options.split_seed);
  // Of what is left for training once the test is taken out, validation takes more than its share of all.
  if (options.test_fraction != 0) split_off(data, "test", options.test_fraction, seed);
  const double left = data.find_split("test") && options.test_fraction != 0 ? 1 - options.test_fraction : 1;
  if (options.validation_fraction != 0) split_off(data, "validation", options.validation_fraction / left, seed);
  return data;
}

}  // namespace hone
