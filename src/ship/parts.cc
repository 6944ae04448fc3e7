#include "ship/parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "base/atomic_file.h"
#include "base/text.h"
#include "data/splits.h"
#include "io/numpy.h"
#include "jobs/row_inputs.h"

namespace hone {
namespace {

constexpr double kJudging = 0.5;                                   // of all rows
constexpr double kChoosing = 0.5, kChoosingBesideTraining = 0.25;  // of the rows that are left

Dataset of_file(const std::string& path, int64_t rows) {
  Dataset data{.path = path, .rows = rows};
  data.files = {path};
  for (int64_t row = 0; row < rows; ++row) data.origins.push_back({0, row + 1});
  return data;
}

// A text a line; empty lines are no texts.
Dataset read_text_lines(const std::string& path) {
  Dataset data = of_file(path, 0);
  int64_t number = 0;
  for (const std::string& line : split(read_file(path), '\n')) {
    ++number;
    if (trim(line).empty()) continue;
    data.texts.emplace_back(trim(line));
    data.origins.push_back({0, number});
  }
  data.rows = std::ssize(data.texts);
  if (data.rows == 0) fail("{}: holds no texts; one a line is expected", path);
  return data;
}

Dataset read_array(const Model& model, const std::string& path) {
  if (model.graph.arguments().size() != 1)
    fail("{}: is one array, but {} takes {} inputs; give an .npz with an array for each", path, model.name,
         model.graph.arguments().size());
  Tensor array = read_npy(path);
  if (array.shape().empty()) fail("{}: is a single number; its first axis must count rows", path);
  Dataset data = of_file(path, array.dim(0));
  data.arrays.push_back({model.graph.value(model.graph.arguments()[0]).label, std::move(array)});
  return data;
}

void rename(Dataset& data, const char* from, const char* to) {
  if (Split* split = const_cast<Split*>(data.find_split(from))) split->name = to;
}

// The rows that are dealt out where the user names a split or a limit: they are all "train" then.
void narrow(Dataset& data, const Deal& deal) {
  if (deal.split.empty() && deal.limit == 0) return;
  std::vector<int64_t> rows(static_cast<size_t>(data.rows));
  std::iota(rows.begin(), rows.end(), int64_t{0});
  if (!deal.split.empty()) rows = data.split(split_name(deal.split));
  if (deal.limit > 0 && deal.limit < std::ssize(rows)) {
    std::vector<int64_t> drawn;
    for (int64_t place : permutation(std::ssize(rows), deal.seed, 0)) drawn.push_back(rows[static_cast<size_t>(place)]);
    drawn.resize(static_cast<size_t>(deal.limit));
    std::ranges::sort(drawn);
    rows = std::move(drawn);
  }
  data.splits = {{"train", std::move(rows)}};
}

void require_enough(const Dataset& data) {
  for (const char* name : {"train", "validation", "test"})
    if (const auto rows = std::ssize(data.split(name)); rows < kFewestOfAPart)
      fail(
          "{}: {} rows are too few: {} of them would be for {}, and each of the three parts (to learn from, to choose "
          "on, to judge on) needs {}; about {} rows are enough",
          data.path, data.rows, rows, name, kFewestOfAPart, 4 * kFewestOfAPart);
}

std::vector<int64_t> shuffled(const std::vector<int64_t>& rows, uint64_t seed) {
  std::vector<int64_t> order;
  for (int64_t place : permutation(std::ssize(rows), seed, 1)) order.push_back(rows[static_cast<size_t>(place)]);
  return order;
}

size_t text_bytes(const Dataset& data, int64_t row) {
  const auto r = static_cast<size_t>(row);
  return (data.texts.empty() ? 0 : data.texts[r].size()) +
         (data.second_texts.empty() ? 0 : data.second_texts[r].size()) +
         (data.words.empty() ? 0 : data.words[r].size());
}

}  // namespace

Dataset read_rows(const Model& model, const std::string& path, const DataOptions& reading) {
  const bool plain = reading.format.empty();
  if (plain && path.ends_with(".txt")) return read_text_lines(path);
  if (plain && path.ends_with(".npy")) return read_array(model, path);
  return read_dataset(path, reading);
}

void deal_rows(Dataset& data, const Deal& deal) {
  narrow(data, deal);
  std::erase_if(data.splits, [](const Split& s) {
    return s.rows.empty() || (s.name != "train" && s.name != "validation" && s.name != "test");
  });
  if (!data.splits.empty() && !data.find_split("train"))
    rename(data, data.find_split("validation") ? "validation" : "test", "train");
  if (!data.find_split("test")) rename(data, "validation", "test");
  try {
    if (!data.find_split("test")) split_off(data, "test", kJudging, deal.seed);
    if (!data.find_split("validation"))
      split_off(data, "validation", deal.trains ? kChoosingBesideTraining : kChoosing, deal.seed);
  } catch (const Error&) {
    fail("{}: {} rows are too few to learn from, to choose on and to judge on; about {} are enough", data.path,
         data.rows, 4 * kFewestOfAPart);
  }
  require_enough(data);
}

std::string ShipParts::text() const {
  const int64_t dealt = std::ssize(learn) + std::ssize(choose) + std::ssize(judge);
  return fmt::format("{} rows of {}: {} to learn from, {} to choose on, {} to judge on",
                     dealt == dataset.rows ? std::to_string(dealt) : fmt::format("{} of {}", dealt, dataset.rows),
                     dataset.path, learn.size(), choose.size(), judge.size());
}

EvaluationData ShipParts::data(const std::vector<int64_t>& part, int64_t rows) const {
  EvaluationData data{.dataset = dataset, .rows = part, .sha256 = sha256, .bytes = bytes};
  if (rows < std::ssize(part)) data.rows.resize(static_cast<size_t>(rows));
  std::ranges::sort(data.rows);
  std::ranges::stable_sort(data.rows, {}, [&](int64_t row) { return text_bytes(dataset, row); });
  data.title = fmt::format("{} rows of {}", data.rows.size(), dataset.path);
  return data;
}

ShipParts read_parts(const Model& model, const std::string& path, const DataOptions& reading, const Deal& deal) {
  ShipParts parts{.dataset = read_rows(model, path, reading)};
  deal_rows(parts.dataset, deal);
  parts.learn = shuffled(parts.dataset.split("train"), deal.seed);
  parts.choose = shuffled(parts.dataset.split("validation"), deal.seed);
  parts.judge = shuffled(parts.dataset.split("test"), deal.seed);
  parts.sha256 = sha256_of(parts.dataset);
  for (const std::string& file : parts.dataset.files)
    parts.bytes += static_cast<int64_t>(std::filesystem::file_size(file));
  return parts;
}

ShapeOptions with_sizes_of_rows(ShapeOptions shapes, const Graph& graph, const Dataset& data) {
  for (ValueId v : graph.arguments()) {
    const Shape& shape = graph.type(v).shape;
    const auto rows = std::ranges::find(data.arrays, graph.value(v).label, &NamedTensor::name);
    if (rows == data.arrays.end() || rows->tensor.shape().size() != shape.size()) continue;
    for (size_t axis = 1; axis < shape.size(); ++axis) {
      const bool is_asked_sequence = axis == 1 && shape.size() != 4 && shapes.sequence;
      const int64_t size = rows->tensor.dim(static_cast<int>(axis));
      if (!shape[axis].is_symbol() || is_asked_sequence || size < 1) continue;
      std::vector<std::string> names;
      shape[axis].collect_symbols(names);
      shapes.dims.emplace(names[0], size);
    }
  }
  return shapes;
}

CalibrationData learning_samples(const Model& model, const ShipParts& parts, int64_t rows, int64_t batch, bool apart) {
  const EvaluationData data = parts.data(parts.learn, rows);
  const RowInputs inputs(model, data.dataset, apart);
  CalibrationData samples{.samples = std::ssize(data.rows), .sha256 = data.sha256};
  const auto step = static_cast<size_t>(inputs.batch(batch));
  for (size_t first = 0; first < data.rows.size(); first += step)
    samples.batches.push_back(inputs.of(std::span(data.rows).subspan(first, std::min(step, data.rows.size() - first))));
  return samples;
}

}  // namespace hone
