#include "jobs/calibration_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <sstream>

#include "base/atomic_file.h"
#include "base/hash.h"
#include "base/text.h"
#include "io/numpy.h"
#include "jobs/default_inputs.h"
#include "jobs/evaluation_data.h"
#include "jobs/row_inputs.h"
#include "jobs/text_inputs.h"
#include "ops/evaluate.h"

namespace hone {
namespace {

std::vector<std::string> input_names(const Graph& graph) {
  std::vector<std::string> names;
  for (ValueId id : graph.arguments()) names.push_back(graph.value(id).label);
  return names;
}

std::string inputs_text(const Graph& graph) {
  std::vector<std::string> texts;
  for (ValueId id : graph.arguments())
    texts.push_back(fmt::format("{} {}", graph.value(id).label, to_string(graph.type(id))));
  return fmt::format("{}", fmt::join(texts, ", "));
}

// --- texts -----------------------------------------------------------------------------------------------------------

std::vector<std::string> read_texts(const std::string& path) {
  std::istringstream content(read_file(path));
  std::vector<std::string> texts;
  for (std::string line; std::getline(content, line);)
    if (!trim(line).empty()) texts.emplace_back(trim(line));
  if (texts.empty()) fail("{}: has no text; one text a line is expected", path);
  return texts;
}

CalibrationData text_data(const Model& model, const std::string& path, int64_t batch) {
  const std::vector<std::string> texts = read_texts(path);
  const Tokenizer tokenizer = tokenizer_of(model);
  CalibrationData data;
  data.samples = std::ssize(texts);
  for (auto first = texts.begin(); first != texts.end();) {
    const auto last = first + std::min<std::ptrdiff_t>(batch, texts.end() - first);
    data.batches.push_back(text_inputs(model, tokenizer, {first, last}));
    first = last;
  }
  return data;
}

// --- arrays ----------------------------------------------------------------------------------------------------------

NamedTensors read_arrays(const Model& model, const std::string& path) {
  NamedTensors arrays;
  if (path.ends_with(".npz")) {
    for (NamedTensor& array : read_npz(path)) arrays.emplace(array.name, std::move(array.tensor));
    return arrays;
  }
  if (model.graph.inputs().size() != 1)
    fail("{}: holds one array, but {} takes {} inputs: {}\nGive them as one .npz file, by their names", path,
         model.name, model.graph.inputs().size(), inputs_text(model.graph));
  arrays.emplace(input_names(model.graph)[0], read_npy(path));
  return arrays;
}

void check_names(const Graph& graph, const NamedTensors& arrays, const std::string& path) {
  const std::vector<std::string> names = input_names(graph);
  for (const auto& [name, array] : arrays)
    if (std::find(names.begin(), names.end(), name) == names.end())
      fail("{}: array \"{}\" is no input of the model, which takes {}{}", path, name, inputs_text(graph),
           did_you_mean(name, names));
  for (const std::string& name : names)
    if (!arrays.contains(name)) fail("{}: has no array \"{}\"; the model takes {}", path, name, inputs_text(graph));
}

Tensor as_input(const Value& input, const Tensor& array, const std::string& path) {
  const DType from = array.dtype(), to = input.type.dtype;
  if (from == to) return array;
  if ((is_float(from) && is_float(to)) || (is_integer(from) && is_integer(to))) return array.converted(to);
  fail("{}: array \"{}\" is {}; the model takes {}", path, input.label, to_string(array.type()), to_string(input.type));
}

// The rows of the table that the input selects from.
void check_indices(const Graph& graph, ValueId id, const Tensor& array, const std::string& path) {
  const std::optional<int64_t> rows = indexed_rows(graph, id);
  if (!rows) return;
  for (int64_t index : array.to_integers())
    if (index < 0 || index >= *rows)
      fail("{}: array \"{}\" holds {}, but the table that it selects from has {} rows", path, graph.value(id).label,
           index, *rows);
}

int64_t samples_of(const NamedTensors& arrays, const std::string& path) {
  const auto& [first, counted] = *arrays.begin();
  for (const auto& [name, array] : arrays) {
    if (array.shape().empty())
      fail("{}: array \"{}\" is a single number; its first axis must count samples", path, name);
    if (array.dim(0) != counted.dim(0))
      fail("{}: array \"{}\" has {} samples, but \"{}\" has {}", path, name, array.dim(0), first, counted.dim(0));
  }
  if (counted.dim(0) == 0) fail("{}: array \"{}\" is empty; at least one sample is needed", path, first);
  return counted.dim(0);
}

// How many samples a run of the model takes where that is fixed, as in exports with batch 1.
std::optional<int64_t> fixed_samples(const Graph& graph) {
  for (ValueId id : graph.arguments())
    if (const Shape& shape = graph.type(id).shape; !shape.empty() && shape[0].is_constant()) return shape[0].constant();
  return std::nullopt;
}

// Samples [first, last).
NamedTensors part_of(const NamedTensors& arrays, int64_t first, int64_t last) {
  NamedTensors part;
  for (const auto& [name, array] : arrays) {
    std::vector<int64_t> shape = array.shape();
    const size_t sample = array.data().size() / static_cast<size_t>(shape[0]);
    shape[0] = last - first;
    const auto bytes =
        array.data().bytes().subspan(static_cast<size_t>(first) * sample, static_cast<size_t>(shape[0]) * sample);
    part.emplace(name, Tensor(array.dtype(), shape, Buffer::copy_of(bytes)));
  }
  return part;
}

// Takes the labels out of the arrays, unless an input has that name.
std::vector<int64_t> take_labels(const Graph& graph, NamedTensors& arrays, const std::string& path) {
  const std::vector<std::string> names = input_names(graph);
  const auto found = arrays.find("labels");
  if (found == arrays.end() || std::find(names.begin(), names.end(), "labels") != names.end()) return {};
  const Tensor labels = found->second;
  if (!is_integer(labels.dtype()) || labels.shape().size() != 1)
    fail("{}: array \"labels\" is {}; integers [samples] are expected", path, to_string(labels.type()));
  arrays.erase(found);
  return labels.to_integers();
}

CalibrationData array_data(const Model& model, const std::string& path, int64_t batch) {
  const Graph& graph = model.graph;
  NamedTensors arrays = read_arrays(model, path);
  CalibrationData data;
  const std::vector<int64_t> labels = take_labels(graph, arrays, path);
  check_names(graph, arrays, path);
  data.samples = samples_of(arrays, path);
  if (!labels.empty() && std::ssize(labels) != data.samples)
    fail("{}: array \"labels\" has {} numbers for {} samples", path, labels.size(), data.samples);
  for (ValueId id : graph.arguments()) {
    Tensor& array = arrays.at(graph.value(id).label);
    array = as_input(graph.value(id), array, path);
    check_indices(graph, id, array, path);
  }
  const std::optional<int64_t> fixed = fixed_samples(graph);
  if (fixed && *fixed < 1) fail("{}: {} runs on {} samples at a time; at least 1 is needed", path, model.name, *fixed);
  const int64_t step = fixed.value_or(batch);
  for (int64_t first = 0; first < data.samples; first += step) {
    const int64_t last = std::min(data.samples, first + step);
    data.batches.push_back(part_of(arrays, first, last));
    if (!labels.empty()) data.right.push_back({.classes = {labels.begin() + first, labels.begin() + last}});
  }
  return data;
}

// --- data sets -------------------------------------------------------------------------------------------------------

CalibrationData dataset_data(const Model& model, const std::string& path, int64_t batch, const DataOptions& reading) {
  const Dataset dataset = read_dataset(path, reading);
  std::vector<int64_t> rows(static_cast<size_t>(dataset.rows));
  std::iota(rows.begin(), rows.end(), int64_t{0});
  if (const Split* train = dataset.find_split("train")) rows = train->rows;
  const RowInputs inputs(model, dataset);
  CalibrationData data{.samples = std::ssize(rows), .sha256 = sha256_of(dataset)};
  const auto step = static_cast<size_t>(inputs.batch(batch));
  for (size_t first = 0; first < rows.size(); first += step)
    data.batches.push_back(inputs.of(std::span(rows).subspan(first, std::min(step, rows.size() - first))));
  return data;
}

}  // namespace

bool is_calibration_file(const std::string& path) {
  return path.ends_with(".txt") || path.ends_with(".npz") || path.ends_with(".npy");
}

CalibrationData read_calibration(const Model& model, const std::string& path, int64_t batch,
                                 const DataOptions& reading) {
  if (path.empty()) fail("no calibration data; give --calib with a .txt, .npz or .npy file, or a data set");
  if (batch < 1) fail("a batch of {} samples; at least 1 is needed", batch);
  CalibrationData data = path.ends_with(".txt")      ? text_data(model, path, batch)
                         : is_calibration_file(path) ? array_data(model, path, batch)
                                                     : dataset_data(model, path, batch, reading);
  if (data.sha256.empty()) data.sha256 = sha256_of_file(path);
  for (const NamedTensors& each : data.batches) try {
      bind_inputs(model.graph, each);
    } catch (const Error& error) {
      fail("{}: {}", path, error.what());
    }
  return data;
}

std::vector<CalibrationData> deal(const CalibrationData& data, std::span<const size_t> hands) {
  CHECK(!hands.empty());
  std::vector<CalibrationData> parts(*std::ranges::max_element(hands) + 1);
  for (CalibrationData& part : parts) {
    part.sha256 = data.sha256;
    part.judged = data.judged, part.metric = data.metric, part.output = data.output;
  }
  const size_t sides = is_of_pairs(data.judged) ? 2 : 1;
  for (size_t i = 0; i < data.batches.size() / sides; ++i) {
    CalibrationData& part = parts[hands[i % hands.size()]];
    part.samples += data.batches[i * sides].begin()->second.dim(0);
    for (size_t side = 0; side < sides; ++side) part.batches.push_back(data.batches[i * sides + side]);
    if (!data.right.empty()) part.right.push_back(data.right[i]);
  }
  return parts;
}

}  // namespace hone
