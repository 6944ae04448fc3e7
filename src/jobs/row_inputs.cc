#include "jobs/row_inputs.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "base/text.h"
#include "ir/row_keys.h"
#include "jobs/default_inputs.h"
#include "jobs/image_inputs.h"
#include "jobs/text_inputs.h"
#include "models/decoder.h"

namespace hone {
namespace {

constexpr const char* kTokenInputs[] = {"input_ids", "attention_mask", "token_type_ids"};

std::optional<int64_t> constant(const TensorType& type, size_t axis) {
  if (axis >= type.shape.size() || !type.shape[axis].is_constant()) return std::nullopt;
  return type.shape[axis].constant();
}

}  // namespace

struct RowInputs::Side {
  std::optional<Dataset> texts;  // where the texts of pairs are apart, or behind a prompt
  std::optional<TokenRows> tokens;
  std::optional<Batches> batches;
};

RowInputs::~RowInputs() = default;
RowInputs::RowInputs(RowInputs&&) noexcept = default;

RowInputs::RowInputs(const Model& model, const Dataset& dataset, bool apart) : model_(model.name) {
  for (ValueId id : model.graph.arguments()) {
    const TensorType& type = model.graph.type(id);
    inputs_.push_back({model.graph.value(id).label, type, indexed_rows(model.graph, id)});
    if (const auto rows = constant(type, 0)) fixed_batch_ = rows;
  }
  if (fixed_batch_ && *fixed_batch_ < 1)
    fail("{}: runs on {} rows at a time; at least 1 is needed", model_, *fixed_batch_);
  if (!dataset.texts.empty() || !dataset.words.empty()) prepare_texts(model, dataset, apart);
  else if (dataset.images) prepare_images(model, dataset);
  else if (!dataset.arrays.empty()) prepare_arrays(dataset);
  else fail("{}: {} holds nothing that a model could be given", model_, dataset.path);
}

void RowInputs::prepare_texts(const Model& model, const Dataset& dataset, bool apart) {
  int64_t most = max_tokens(model);
  BatchOptions options{.order = {.batch = 1, .shuffle = false}};
  for (const Input& input : inputs_) {
    if (std::ranges::find(kTokenInputs, input.name) == std::end(kTokenInputs))
      fail("{}: {} holds texts, but the model's input \"{}\" is none of {}", model_, dataset.path, input.name,
           fmt::join(kTokenInputs, ", "));
    if (const auto length = constant(input.type, 1); length && *length > 0)
      options.pad_to_multiple = *length, most = most > 0 ? std::min(most, *length) : *length;
  }
  const Tokenizer tokenizer = tokenizer_of(model);
  TokenizerSpec padding = tokenizer.spec();
  if (!padding.pad_id && is_decoder(model.graph)) padding.pad_id = 0;  // masked: any id gives the same result
  const bool prompted = !prompt_of(model).empty();
  if (!apart) note_lacking_types(model, dataset);
  std::vector<int64_t> all(static_cast<size_t>(dataset.rows));
  std::iota(all.begin(), all.end(), int64_t{0});
  for (size_t s = 0; s < (apart ? 2 : 1); ++s) {
    Side& side = *sides_.emplace_back(std::make_unique<Side>());
    if (apart)
      side.texts = Dataset{.path = dataset.path,
                           .rows = dataset.rows,
                           .texts = s == 0 ? dataset.texts : dataset.second_texts,
                           .files = dataset.files,
                           .origins = dataset.origins};
    if (prompted) side.texts = with_prompt(apart ? *std::move(side.texts) : dataset, model);
    const Dataset& texts = side.texts ? *side.texts : dataset;
    side.tokens.emplace(texts, tokenizer, most);
    side.batches.emplace(texts, all, options, &*side.tokens, &padding);
  }
}

// Into the only input, in its size where it states one.
void RowInputs::prepare_images(const Model& model, const Dataset& dataset) {
  const bool takes_images = inputs_.size() == 1 && inputs_[0].type.rank() == 4 && is_float(inputs_[0].type.dtype);
  if (!takes_images)
    fail("{}: {} holds images; a model with one input f32[rows,channels,height,width] is needed", model_, dataset.path);
  const TensorType& type = inputs_[0].type;
  if (const auto channels = constant(type, 1); channels && *channels != dataset.images.channels)
    fail("{}: takes images of {} channels, {} has {}; --channels says how image files are read", model_, *channels,
         dataset.path, dataset.images.channels);
  const BatchOptions options{.order = {.batch = 1, .shuffle = false}, .images = images_for(model, type)};
  std::vector<int64_t> all(static_cast<size_t>(dataset.rows));
  std::iota(all.begin(), all.end(), int64_t{0});
  sides_.emplace_back(std::make_unique<Side>())->batches.emplace(dataset, all, options);
}

// By name; the only array is that of the only input.
void RowInputs::prepare_arrays(const Dataset& dataset) {
  std::vector<std::string> names;
  for (const NamedTensor& array : dataset.arrays) names.push_back(array.name);
  for (Input& input : inputs_) {
    auto found = std::ranges::find(names, input.name);
    if (found == names.end() && inputs_.size() == 1 && names.size() == 1) found = names.begin();
    if (found == names.end())
      fail("{}: has no array \"{}\", which {} takes: it has {}{}", dataset.path, input.name, model_,
           fmt::join(names, ", "), did_you_mean(input.name, names));
    input.array = static_cast<size_t>(found - names.begin());
    const Tensor& array = dataset.arrays[input.array].tensor;
    const DType from = array.dtype(), to = input.type.dtype;
    if (from != to && !(is_float(from) && is_float(to)) && !(is_integer(from) && is_integer(to)))
      fail("{}: array \"{}\" is {}; {} takes {}", dataset.path, *found, to_string(array.type()), model_,
           to_string(input.type));
  }
  std::vector<int64_t> all(static_cast<size_t>(dataset.rows));
  std::iota(all.begin(), all.end(), int64_t{0});
  sides_.emplace_back(std::make_unique<Side>())
      ->batches.emplace(dataset, all, BatchOptions{.order = {.batch = 1, .shuffle = false}});
}

Tensor RowInputs::array_of(const Input& input, const Batch& batch) const {
  const NamedTensor& array = batch.arrays[input.array];
  if (input.table_rows)
    for (int64_t index : array.tensor.to_integers())
      if (index < 0 || index >= *input.table_rows)
        fail("array \"{}\" holds {}, but the table that {} selects from has {} rows", array.name, index, model_,
             *input.table_rows);
  return array.tensor.dtype() == input.type.dtype ? array.tensor : array.tensor.converted(input.type.dtype);
}

Batch RowInputs::batch_of(const Side& side, std::span<const int64_t> rows) const {
  std::vector<int64_t> filled(rows.begin(), rows.end());
  if (fixed_batch_) filled.resize(static_cast<size_t>(*fixed_batch_), filled.back());
  return side.batches->make({filled}, 0, 0);
}

NamedTensors RowInputs::of(std::span<const int64_t> rows, bool second) const {
  const Side& side = *sides_.at(second ? 1 : 0);
  const Batch batch = batch_of(side, rows);
  NamedTensors inputs;
  for (const Input& input : inputs_) {
    if (side.tokens)
      inputs.emplace(input.name, input.name == "input_ids"        ? batch.ids
                                 : input.name == "attention_mask" ? batch.mask
                                                                  : batch.types);
    else if (batch.arrays.empty()) inputs.emplace(input.name, batch.images.converted(input.type.dtype));
    else inputs.emplace(input.name, array_of(input, batch));
  }
  return inputs;
}

TokenBatch RowInputs::tokens_of(std::span<const int64_t> rows) const {
  const Side& side = *sides_.at(0);
  Batch batch = side.batches->make({{rows.begin(), rows.end()}}, 0, 0);
  return {std::move(batch.ids), std::move(batch.mask)};
}

std::vector<int64_t> RowInputs::word_labels(std::span<const int64_t> rows) const {
  const Tensor labels = batch_of(*sides_.at(0), rows).labels;
  std::vector<int64_t> ids = labels.to_integers();
  ids.resize(rows.size() * static_cast<size_t>(labels.dim(1)));  // without what fills the batch up
  return ids;
}

}  // namespace hone
