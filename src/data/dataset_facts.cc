#include "data/dataset_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_map>

#include "base/error.h"
#include "base/hash.h"
#include "base/printable.h"
#include "base/text.h"
#include "base/threads.h"
#include "data/keep_rows.h"

namespace hone {
namespace {

constexpr size_t kNamed = 5;  // of each kind of finding

void note(Finding& finding, std::string where) {
  ++finding.count;
  if (finding.first.size() < kNamed) finding.first.push_back(std::move(where));
}

void add(std::string& content, std::string_view part) {
  content += fmt::format("{}:", part.size());  // so that no two rows run into each other
  content += part;
}

struct RowContent {
  std::string sha256;   // of the inputs
  std::string why_not;  // an image that does not decode
};

RowContent content_of(const Dataset& data, int64_t row) {
  const auto at = static_cast<size_t>(row);
  std::string content;
  RowContent result;
  if (!data.texts.empty()) add(content, data.texts[at]);
  if (!data.second_texts.empty()) add(content, data.second_texts[at]);
  if (!data.words.empty())
    for (const std::string& word : data.words[at]) add(content, word);
  const auto as_text = [](std::span<const std::byte> bytes) {
    return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  for (const NamedTensor& array : data.arrays) {
    const size_t bytes = array.tensor.data().size() / static_cast<size_t>(data.rows);
    add(content, as_text(array.tensor.data().bytes().subspan(at * bytes, bytes)));
  }
  if (data.images) try {
      const Tensor image = data.images.read(row);
      add(content, fmt::format("{}x{}", image.dim(1), image.dim(2)));
      add(content, as_text(image.data().bytes()));
    } catch (const MemoryError&) {
      throw;  // says nothing of the image
    } catch (const Error& error) {
      result.why_not = error.what();
    }
  result.sha256 = sha256_hex(content);
  return result;
}

std::vector<RowContent> contents_of(const Dataset& data) {
  std::vector<RowContent> contents(static_cast<size_t>(data.rows));
  parallel_for(
      data.rows, [&](int64_t row) { contents[static_cast<size_t>(row)] = content_of(data, row); }, 16);
  return contents;
}

// The names of what is right, or the numbers.
std::string label_text(const Dataset& data, size_t row) {
  const auto name = [](const auto& labels, int64_t id) {
    return id == kIgnoredLabel ? std::string_view() : std::string_view(labels.names[static_cast<size_t>(id)]);
  };
  std::string text;
  if (const auto* labels = std::get_if<ClassLabels>(&data.labels)) add(text, name(*labels, labels->ids[row]));
  const auto add_all = [&](const auto* labels) {
    if (!labels) return;
    for (int64_t id : labels->ids[row]) add(text, name(*labels, id));
  };
  add_all(std::get_if<MultiLabels>(&data.labels));
  if (const auto* labels = std::get_if<MultiLabels>(&data.labels))
    for (int64_t id : labels->ignored_of(row)) add(text, fmt::format("not known: {}", name(*labels, id)));
  add_all(std::get_if<TokenLabels>(&data.labels));
  if (const auto* targets = std::get_if<Targets>(&data.labels))
    for (size_t i = 0; i < static_cast<size_t>(targets->width); ++i)
      add(text, fmt::format("{}", targets->values[row * static_cast<size_t>(targets->width) + i]));
  return text;
}

bool is_empty(const Dataset& data, size_t row) {
  if (!data.words.empty()) return data.words[row].empty();
  if (data.texts.empty()) return false;
  return trim(data.texts[row]).empty() || (!data.second_texts.empty() && trim(data.second_texts[row]).empty());
}

std::vector<Split> splits_of(const Dataset& data) {
  if (!data.splits.empty()) return data.splits;
  std::vector<int64_t> all(static_cast<size_t>(data.rows));
  std::iota(all.begin(), all.end(), 0);
  return {{"", std::move(all)}};
}

std::vector<int64_t> count_classes(const Dataset& data, const std::vector<int64_t>& rows) {
  std::vector<int64_t> counts(class_names(data.labels).size());
  const auto count = [&](int64_t id) {
    if (id != kIgnoredLabel) ++counts[static_cast<size_t>(id)];
  };
  for (int64_t row : rows) {
    const auto at = static_cast<size_t>(row);
    if (const auto* labels = std::get_if<ClassLabels>(&data.labels)) count(labels->ids[at]);
    if (const auto* labels = std::get_if<MultiLabels>(&data.labels)) std::ranges::for_each(labels->ids[at], count);
    if (const auto* labels = std::get_if<TokenLabels>(&data.labels)) std::ranges::for_each(labels->ids[at], count);
  }
  return counts;
}

void count_splits(DatasetFacts& facts, const Dataset& data, const std::vector<Split>& splits) {
  for (const Split& split : splits) {
    facts.splits.push_back({split.name, std::ssize(split.rows), count_classes(data, split.rows)});
    const std::vector<int64_t>& counts = facts.splits.back().of_class;
    for (size_t c = 0; c < counts.size(); ++c)
      if (counts[c] == 0) facts.absent.emplace_back(split.name, facts.classes[c]);
  }
}

// The first row with some inputs, in the order of the splits.
void find_repeated(DatasetFacts& facts, const Dataset& data, const std::vector<Split>& splits,
                   const std::vector<RowContent>& contents) {
  struct Place {
    size_t split;
    int64_t row;
  };
  std::unordered_map<std::string_view, Place> first, in_split;
  for (size_t s = 0; s < splits.size(); ++s) {
    in_split.clear();
    for (int64_t row : splits[s].rows) {
      const auto at = static_cast<size_t>(row);
      if (!contents[at].why_not.empty()) continue;
      const std::string_view key = contents[at].sha256;
      const auto [here, is_new] = in_split.try_emplace(key, Place{s, row});
      const auto as = [&](const Place& other) {
        return fmt::format("{} as {}", data.where(row), data.where(other.row));
      };
      if (!is_new) {
        note(facts.repeated, as(here->second));
        if (label_text(data, at) != label_text(data, static_cast<size_t>(here->second.row)))
          note(facts.conflicting, as(here->second));
      }
      const auto [before, is_first] = first.try_emplace(key, Place{s, row});
      if (!is_first && before->second.split != s)
        note(facts.leaking,
             fmt::format("{} ({}, {})", as(before->second), splits[s].name, splits[before->second.split].name));
    }
  }
}

void find_leaking_groups(DatasetFacts& facts, const Dataset& data) {
  if (data.groups.empty()) return;
  std::vector<size_t> split_of(data.group_names.size(), data.splits.size());
  std::vector<bool> leaks(data.group_names.size());
  for (size_t s = 0; s < data.splits.size(); ++s)
    for (int64_t row : data.splits[s].rows) {
      const auto group = static_cast<size_t>(data.groups[static_cast<size_t>(row)]);
      if (split_of[group] == data.splits.size()) split_of[group] = s;
      leaks[group] = leaks[group] || split_of[group] != s;
    }
  for (size_t g = 0; g < leaks.size(); ++g)
    if (leaks[g]) facts.leaking_groups.push_back(data.group_names[g]);
}

void find_unlabelled(DatasetFacts& facts, const Dataset& data) {
  std::vector<int64_t> rows;
  std::visit(
      [&](const auto& labels) {
        if constexpr (requires { labels.unknown; })
          for (const auto& [row, text] : labels.unknown) {
            if (!rows.empty() && rows.back() == row) continue;
            rows.push_back(row);
            note(facts.unlabelled, fmt::format("{} (\"{}\")", data.where(row), shortened(text, 40)));
          }
      },
      data.labels);
  if (const auto* targets = std::get_if<Targets>(&data.labels))
    for (int64_t row = 0; row < data.rows; ++row) {
      const auto values = std::span(targets->values)
                              .subspan(static_cast<size_t>(row * targets->width), static_cast<size_t>(targets->width));
      if (std::ranges::all_of(values, [](float value) { return std::isfinite(value); })) continue;
      rows.push_back(row);
      note(facts.unlabelled, data.where(row));
    }
  facts.unusable.insert(facts.unusable.end(), rows.begin(), rows.end());
}

std::string digest(const Dataset& data, const std::vector<RowContent>& contents) {
  Sha256 hash;
  for (size_t row = 0; row < contents.size(); ++row) {
    std::string line = contents[row].sha256;
    add(line, label_text(data, row));
    hash.update(line);
  }
  return hash.hex();
}

}  // namespace

DatasetFacts check_dataset(const Dataset& data, const TokenRows* tokens) {
  DatasetFacts facts{.rows = data.rows};
  const auto names = class_names(data.labels);
  facts.classes.assign(names.begin(), names.end());
  const std::vector<Split> splits = splits_of(data);
  const std::vector<RowContent> contents = contents_of(data);
  count_splits(facts, data, splits);
  find_repeated(facts, data, splits, contents);
  find_leaking_groups(facts, data);
  find_unlabelled(facts, data);
  for (int64_t row = 0; row < data.rows; ++row) {
    const auto at = static_cast<size_t>(row);
    if (is_empty(data, at)) note(facts.empty, data.where(row));
    if (tokens && tokens->left_out(row) > 0) note(facts.cut, data.where(row));
    if (contents[at].why_not.empty()) continue;
    note(facts.undecodable, contents[at].why_not);
    facts.unusable.push_back(row);
  }
  std::ranges::sort(facts.unusable);
  facts.unusable.erase(std::unique(facts.unusable.begin(), facts.unusable.end()), facts.unusable.end());
  facts.sha256 = digest(data, contents);
  return facts;
}

std::string to_string(const DatasetFacts& facts) {
  std::string text = fmt::format("{} rows", facts.rows);
  for (const SplitFacts& split : facts.splits)
    if (!split.name.empty()) text += fmt::format(", {} {}", split.name, split.rows);
  text += fmt::format("; SHA-256 {}\n", facts.sha256);
  for (const SplitFacts& split : facts.splits) {
    if (split.of_class.empty()) continue;
    text += split.name.empty() ? "classes:" : split.name + ":";
    for (size_t c = 0; c < split.of_class.size(); ++c)
      text += fmt::format(" {} {}", facts.classes[c], split.of_class[c]);
    text += '\n';
  }
  const auto show = [&](const char* what, const Finding& finding) {
    if (finding.count == 0) return;
    text += fmt::format("{} {}: {}{}\n", finding.count, what, fmt::join(finding.first, "; "),
                        finding.count > std::ssize(finding.first) ? "; ..." : "");
  };
  show("rows are empty", facts.empty);
  show("rows repeat one of their split", facts.repeated);
  show("of those have other labels", facts.conflicting);
  show("rows are in an earlier split, too", facts.leaking);
  show("texts are cut to the model's length", facts.cut);
  show("rows have no label that is known", facts.unlabelled);
  show("images do not decode", facts.undecodable);
  if (!facts.leaking_groups.empty()) {
    const auto first = std::span(facts.leaking_groups).first(std::min(kNamed, facts.leaking_groups.size()));
    text += fmt::format("{} groups are in several splits: {}{}\n", facts.leaking_groups.size(), fmt::join(first, ", "),
                        first.size() < facts.leaking_groups.size() ? ", ..." : "");
  }
  for (const auto& [split, name] : facts.absent)
    text += fmt::format("class {} has no rows{}\n", name, split.empty() ? "" : " in " + split);
  return text;
}

Dataset usable_rows(Dataset data, const DatasetFacts& facts, bool skip_bad) {
  if (facts.unusable.empty()) return data;
  if (!skip_bad || std::ssize(facts.unusable) == facts.rows) {
    const Finding& worst = facts.undecodable.count > 0 ? facts.undecodable : facts.unlabelled;
    fail(
        "{}: {} of {} rows can't be used: {} images that do not decode, {} rows without a known label. The first: {}{}",
        data.path, facts.unusable.size(), facts.rows, facts.undecodable.count, facts.unlabelled.count,
        fmt::join(worst.first, "; "), skip_bad ? "" : ". --skip-bad goes on without them");
  }
  std::vector<bool> keep(static_cast<size_t>(data.rows), true);
  for (int64_t row : facts.unusable) keep[static_cast<size_t>(row)] = false;
  return keep_rows(std::move(data), keep);
}

}  // namespace hone
