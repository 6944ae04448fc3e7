#include "jobs/evaluation_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <numeric>

#include "base/hash.h"
#include "base/json.h"
#include "data/splits.h"
#include "importers/class_names.h"

namespace hone {
namespace {

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

const Split* chosen_split(const Dataset& dataset, const std::string& name) {
  if (!name.empty()) {
    dataset.split(split_name(name));  // Error that lists them
    return dataset.find_split(split_name(name));
  }
  const Split* test = dataset.find_split("test");
  return test ? test : dataset.find_split("validation");
}

// A sample of them, in their order.
std::vector<int64_t> drawn(const std::vector<int64_t>& rows, int64_t limit, uint64_t seed) {
  if (limit <= 0 || limit >= std::ssize(rows)) return rows;
  std::vector<int64_t> places = permutation(std::ssize(rows), seed, 0);
  places.resize(static_cast<size_t>(limit));
  std::ranges::sort(places);
  std::vector<int64_t> sample;
  for (int64_t place : places) sample.push_back(rows[static_cast<size_t>(place)]);
  return sample;
}

size_t text_bytes(const Dataset& dataset, int64_t row) {
  const auto r = static_cast<size_t>(row);
  size_t bytes = dataset.texts.empty() ? 0 : dataset.texts[r].size();
  if (!dataset.second_texts.empty()) bytes += dataset.second_texts[r].size();
  if (!dataset.words.empty()) bytes += dataset.words[r].size();
  return bytes;
}

}  // namespace

std::string sha256_of(const Dataset& dataset) {
  if (dataset.files.size() == 1) return sha256_of_file(dataset.files[0]);
  Sha256 all;
  for (const std::string& file : dataset.files) all.update(sha256_of_file(file));
  return all.hex();
}

EvaluationData read_evaluation_data(const DataChoice& choice) {
  EvaluationData data{.dataset = read_dataset(choice.path, choice.reading)};
  const Dataset& dataset = data.dataset;
  const Split* split = chosen_split(dataset, choice.split);
  std::vector<int64_t> all(static_cast<size_t>(dataset.rows));
  std::iota(all.begin(), all.end(), int64_t{0});
  if (split) all = split->rows;
  if (all.empty()) fail("{}: there are no rows to judge a model on{}", choice.path, split ? " in " + split->name : "");
  data.rows = drawn(all, choice.limit, choice.seed);
  data.title = data.rows.size() == all.size() ? fmt::format("{} rows", all.size())
                                              : fmt::format("{} of {} rows", data.rows.size(), all.size());
  data.title += split ? fmt::format(" of {} of {}", split->name, choice.path) : fmt::format(" of {}", choice.path);
  std::ranges::stable_sort(data.rows, {}, [&](int64_t row) { return text_bytes(dataset, row); });
  data.sha256 = sha256_of(dataset);
  for (const std::string& file : dataset.files) data.bytes += static_cast<int64_t>(std::filesystem::file_size(file));
  return data;
}

ClassNumbers class_numbers(const Model& model, const Dataset& dataset) {
  const std::span<const std::string> data = class_names(dataset.labels);
  ClassNumbers numbers{.of = std::vector<int64_t>(data.size()), .names = {data.begin(), data.end()}};
  std::iota(numbers.of.begin(), numbers.of.end(), int64_t{0});
  const std::vector<std::string> known = classes_of(model);
  if (data.empty() || known.empty()) return numbers;
  std::vector<int64_t> of;
  for (const std::string& name : data) {
    const auto found = std::ranges::find(known, lower(name), lower);
    if (found == known.end()) {
      numbers.note = fmt::format(
          "The model calls its classes {}, the data {}: they are taken in this order; --classes gives another",
          fmt::join(known, ", "), fmt::join(data, ", "));
      return numbers;
    }
    of.push_back(found - known.begin());
  }
  if (of != numbers.of)
    numbers.note = fmt::format("Classes are numbered as the model does: {}", fmt::join(known, ", "));
  numbers.of = std::move(of), numbers.names = known;
  return numbers;
}

RightAnswers right_answers(const Dataset& dataset, std::span<const int64_t> rows, const ClassNumbers& classes) {
  RightAnswers right;
  const auto number_of = [&](int64_t id) {
    return id == kIgnoredLabel ? kIgnored : classes.of[static_cast<size_t>(id)];
  };
  if (const auto* labels = std::get_if<ClassLabels>(&dataset.labels)) {
    right.kind = TargetKind::classes;
    for (int64_t row : rows) right.classes.push_back(number_of(labels->ids[static_cast<size_t>(row)]));
  } else if (const auto* several = std::get_if<MultiLabels>(&dataset.labels)) {
    right.kind = TargetKind::labels;
    const size_t width = classes.names.size();
    right.values.resize(rows.size() * width);
    for (size_t r = 0; r < rows.size(); ++r) {
      const auto row = static_cast<size_t>(rows[r]);
      const auto set = [&](int64_t id, float value) {
        if (const int64_t number = number_of(id); number >= 0)
          right.values[r * width + static_cast<size_t>(number)] = value;
      };
      for (int64_t id : several->ids[row]) set(id, 1);
      for (int64_t id : several->ignored_of(row)) set(id, std::nanf(""));
    }
  } else {
    const auto* targets = std::get_if<Targets>(&dataset.labels);
    CHECK(targets, "data with {}", kind_of(dataset.labels));
    right.kind = TargetKind::numbers;
    const auto w = static_cast<std::ptrdiff_t>(targets->width);
    for (int64_t row : rows)
      right.values.insert(right.values.end(), targets->values.begin() + row * w,
                          targets->values.begin() + (row + 1) * w);
  }
  return right;
}

std::string label_json(const Dataset& dataset, int64_t row) {
  const auto r = static_cast<size_t>(row);
  const auto name = [](const auto& labels, int64_t id) {
    return id == kIgnoredLabel ? Json() : Json(labels.names[static_cast<size_t>(id)]);
  };
  const auto list = [&](const auto& labels) {
    Json names = Json::array();
    for (int64_t id : labels.ids[r]) names.push_back(name(labels, id));
    return names;
  };
  Json json;
  if (const auto* one = std::get_if<ClassLabels>(&dataset.labels)) json = name(*one, one->ids[r]);
  else if (const auto* several = std::get_if<MultiLabels>(&dataset.labels)) json = list(*several);
  else if (const auto* tokens = std::get_if<TokenLabels>(&dataset.labels)) json = list(*tokens);
  else if (const auto* targets = std::get_if<Targets>(&dataset.labels)) {
    const auto number = [&](int64_t i) {
      const float value = targets->values[r * static_cast<size_t>(targets->width) + static_cast<size_t>(i)];
      return std::isfinite(value) ? Json(value) : Json();
    };
    if (targets->width == 1) json = number(0);
    else
      for (int64_t i = 0; i < targets->width; ++i) json.push_back(number(i));
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace hone
