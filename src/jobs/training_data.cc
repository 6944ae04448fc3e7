#include "jobs/training_data.h"

#include <algorithm>
#include <cstring>
#include <set>

#include <fmt/format.h>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "importers/class_names.h"
#include "ir/row_keys.h"
#include "jobs/image_inputs.h"
#include "jobs/text_inputs.h"
#include "train/train_graph.h"

namespace hone {
namespace {

template <class... Visitors>
struct Overloaded : Visitors... {
  using Visitors::operator()...;
};
template <class... Visitors>
Overloaded(Visitors...) -> Overloaded<Visitors...>;

LabelNeeds of_classes(const std::vector<std::string>& names, bool per_word) {
  if (names.size() < 2) fail("the labels have {} class; at least 2 are needed", names.size());
  return {.width = std::ssize(names),
          .per_word = per_word,
          .kind = TargetKind::classes,
          .loss = "cross-entropy",
          .metric = "accuracy",
          .names = names};
}

// Rows [begin, end) of a tensor whose first axis counts rows.
Tensor rows_of(const Tensor& tensor, int64_t begin, int64_t end) {
  std::vector<int64_t> shape = tensor.shape();
  const size_t row_bytes = shape[0] == 0 ? 0 : tensor.data().size() / static_cast<size_t>(shape[0]);
  shape[0] = end - begin;
  return Tensor(tensor.dtype(), shape,
                Buffer::copy_of(tensor.data().bytes().subspan(static_cast<size_t>(begin) * row_bytes,
                                                              static_cast<size_t>(end - begin) * row_bytes)));
}

const Split* train_split(const Dataset& data) { return data.find_split("train"); }

std::vector<int64_t> all_rows(const Dataset& data) {
  std::vector<int64_t> rows(static_cast<size_t>(data.rows));
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<int64_t>(i);
  return rows;
}

}  // namespace

LabelNeeds label_needs(const Dataset& data) {
  return std::visit(
      Overloaded{[&](const std::monostate&) -> LabelNeeds {
                   fail("{}: has no labels to train on; name their column (label, labels, target or tags)", data.path);
                 },
                 [](const ClassLabels& labels) { return of_classes(labels.names, false); },
                 [](const MultiLabels& labels) {
                   return LabelNeeds{.width = std::ssize(labels.names),
                                     .kind = TargetKind::labels,
                                     .loss = "bce",
                                     .metric = "f1",
                                     .names = labels.names};
                 },
                 [](const Targets& targets) {
                   return LabelNeeds{
                       .width = targets.width, .kind = TargetKind::numbers, .loss = "mse", .metric = "mse"};
                 },
                 [](const TokenLabels& labels) { return of_classes(labels.names, true); }},
      data.labels);
}

TrainingData::TrainingData(Dataset data, const Model& model, const TrainingOptions& options)
    : data_(with_prompt(std::move(data), model)),
      needs_(label_needs(data_)),
      batch_(options.batch),
      parts_(options.parts),
      in_order_(options.in_order) {
  if (!data_.texts.empty() || !data_.words.empty()) read_tokens(model, options);
  if (data_.images) set_images(model, options);
  const Split* split = train_split(data_);
  std::vector<int64_t> rows = split ? split->rows : all_rows(data_);
  if (std::ssize(rows) < options.batch)
    fail("{}: has {} rows to train on, fewer than a batch of {}; give a smaller batch", data_.path, rows.size(),
         options.batch);
  const auto seed = static_cast<uint64_t>(options.seed);
  const int64_t window = tokens_ && !options.in_order ? options.window : 1;
  const TokenRows* tokens = tokens_ ? &*tokens_ : nullptr;
  const TokenizerSpec* padding = tokenizer_ ? &tokenizer_->spec() : nullptr;
  train_options_ = {.order = {.batch = options.batch, .seed = seed, .shuffle = !options.in_order, .window = window},
                    .images = images_};
  train_ = std::make_unique<Batches>(data_, std::move(rows), train_options_, tokens, padding);
  const Split* judged = data_.find_split("validation");
  if (!judged || judged->rows.empty()) return;
  ImageTransform still = images_;
  still.crop_padding = 0, still.flip = false;
  validation_ = std::make_unique<Batches>(
      data_, judged->rows,
      BatchOptions{.order = {.batch = options.batch, .seed = seed, .shuffle = false, .window = tokens ? 64 : 1},
                   .images = still},
      tokens, padding);
}

void TrainingData::read_tokens(const Model& model, const TrainingOptions& options) {
  note_lacking_types(model, data_);
  Model as_asked = model;
  if (options.max_length > 0) cut_texts(as_asked, options.max_length);
  max_length_ = options.max_length;
  const int64_t length = max_tokens(as_asked);
  tokenizer_.emplace(tokenizer_of(model));
  tokens_.emplace(data_, *tokenizer_, length);
  int64_t cut = 0;
  for (int64_t row = 0; row < tokens_->rows(); ++row) cut += tokens_->left_out(row) > 0;
  if (cut > 0)
    notes_.push_back(fmt::format("{} of {} texts are longer than {} tokens and cut", cut, tokens_->rows(), length));
}

// Sizes as the model takes them, and values normalised as it states, or by those of the training images.
void TrainingData::set_images(const Model& model, const TrainingOptions& options) {
  const ValueId input = image_input_of(model.graph);
  if (input == kNone) fail("{}: {} holds images, and the model takes none", model.name, data_.path);
  const TensorType& type = model.graph.type(input);
  images_ = images_for(model, type);
  if (const int64_t asked = options.image_size; asked > 0) {
    for (const size_t axis : {2, 3})
      if (type.shape[axis].is_constant() && type.shape[axis] != Dim(asked))
        fail("image-size is {}; the model takes images of {}", asked, to_string(type.shape));
    images_ = images_.with_size(asked, asked);
  }
  images_.crop_padding = options.crop_padding;
  images_.flip = options.flip;
  set_pixel_statistics();
  check(images_, data_.images.channels);
  if (type.shape[1].is_constant() && type.shape[1] != Dim(data_.images.channels))
    fail("{}: images have {} channels; the model takes {} (--channels)", data_.path, data_.images.channels,
         type.shape[1].to_string());
}

// Those that a model was trained with, by whoever wrote it, or of the images that are trained on.
void TrainingData::set_pixel_statistics() {
  if (!images_.mean.empty() && images_.mean.size() == images_.deviation.size()) return;
  const Split* split = train_split(data_);
  const PixelStatistics pixels = pixel_statistics(data_, split ? split->rows : all_rows(data_));
  images_.mean = pixels.mean;
  images_.deviation = pixels.deviation;
  const auto levels = static_cast<float>(255 * images_.scale);  // statistics are of parts of 255
  for (auto* values : {&images_.mean, &images_.deviation})
    for (float& value : *values) value *= levels;
  for (float& d : images_.deviation)
    if (d == 0) d = 1;  // a channel of one value
}

void TrainingData::describe_rows(Model& model) const {
  model.graph.metadata.erase(kClassNames);
  if (!needs_.names.empty()) name_classes(model, needs_.names, needs_.kind == TargetKind::labels);
  if (max_length_ > 0) model.graph.metadata[kTextLength] = std::to_string(max_length_);
  if (data_.images) describe_images(model, images_);
}

void TrainingData::fit(const Graph& graph) { sources_ = sources_for(graph, "model"); }
void TrainingData::fit_teacher(const Graph& graph) { teacher_sources_ = sources_for(graph, "teacher"); }

std::vector<TrainingData::Source> TrainingData::sources_for(const Graph& graph, const char* whose) const {
  using Kind = Source::Kind;
  std::vector<Source> sources;
  std::vector<std::string> arrays;
  for (const NamedTensor& array : data_.arrays) arrays.push_back(array.name);
  const std::vector<ValueId> arguments = graph.arguments();
  for (ValueId input : arguments) {
    const Value& value = graph.value(input);
    if (!value.type.shape.empty() && value.type.shape[0].is_constant())
      fail("the {}'s input \"{}\" is {}: it runs on a fixed number of rows. Export it with an open batch dimension",
           whose, value.label, to_string(value.type));
    Source source{.kind = Kind::array, .name = value.label, .type = value.type};
    if (tokens_ && value.label == "input_ids") source.kind = Kind::ids;
    else if (tokens_ && value.label == "attention_mask") source.kind = Kind::mask;
    else if (tokens_ && value.label == "token_type_ids") source.kind = Kind::types;
    else if (data_.images && value.type.rank() == 4) source.kind = Kind::images;
    else {
      auto found = std::ranges::find(arrays, value.label);
      if (found == arrays.end() && arguments.size() == 1 && arrays.size() == 1) found = arrays.begin();
      if (found == arrays.end())
        fail("{}: has nothing for the {}'s input \"{}\" ({}); it has {}", data_.path, whose, value.label,
             to_string(value.type),
             !arrays.empty() ? fmt::format("the arrays {}", fmt::join(arrays, ", "))
             : tokens_       ? std::string("texts")
             : data_.images  ? std::string("images")
                             : std::string("no inputs"));
      source.array = static_cast<size_t>(found - arrays.begin());
    }
    sources.push_back(std::move(source));
  }
  return sources;
}

Tensor TrainingData::source_of(const Source& source, const Batch& batch) const {
  using Kind = Source::Kind;
  const Tensor& tensor = source.kind == Kind::ids      ? batch.ids
                         : source.kind == Kind::mask   ? batch.mask
                         : source.kind == Kind::types  ? batch.types
                         : source.kind == Kind::images ? batch.images
                                                       : batch.arrays[source.array].tensor;
  if (tensor.dtype() == source.type.dtype) return tensor;
  if (is_float(tensor.dtype()) != is_float(source.type.dtype) && source.kind == Kind::array)
    fail("{}: array \"{}\" is {}; the model takes {}", data_.path, source.name, to_string(tensor.type()),
         to_string(source.type));
  return tensor.converted(source.type.dtype);
}

namespace {

// Parts of alike many rows.
std::vector<NamedTensors> divided(NamedTensors whole, const Batch& batch, int64_t parts) {
  const int64_t rows = std::ssize(batch.rows), of_each = (batch.largest_share + parts - 1) / parts;
  if (of_each >= batch.largest_share) return {std::move(whole)};
  std::vector<NamedTensors> split;
  for (int64_t begin = 0; begin < batch.largest_share; begin += of_each) {
    NamedTensors& part = split.emplace_back();
    for (const auto& [name, tensor] : whole)
      part.emplace(name, rows_of(tensor, std::min(rows, begin), std::min(rows, begin + of_each)));
  }
  return split;
}

}  // namespace

std::vector<NamedTensors> TrainingData::teacher_parts(const Batch& batch, int64_t parts) const {
  NamedTensors whole;
  for (const Source& source : teacher_sources_) whole.emplace(source.name, source_of(source, batch));
  return divided(std::move(whole), batch, parts);
}

std::vector<NamedTensors> TrainingData::parts(const Batch& batch, int64_t parts) const {
  NamedTensors whole;
  for (const Source& source : sources_) whole.emplace(source.name, source_of(source, batch));
  Tensor labels = batch.labels;
  if (needs_.kind == TargetKind::numbers && labels.shape().size() == 1)
    labels = labels.reshaped({labels.dim(0), needs_.width});
  whole.emplace(TrainNames::kLabels, std::move(labels));
  return divided(std::move(whole), batch, parts);
}

Answers TrainingData::answers(const NamedTensors& part, const std::vector<float>& predictions) const {
  const Tensor& labels = part.at(TrainNames::kLabels);
  Answers answers{.kind = needs_.kind,
                  .samples = labels.dim(0),
                  .width = needs_.width,
                  .scores = predictions,
                  .classes = {},
                  .values = {}};
  if (needs_.kind == TargetKind::classes) answers.classes = labels.as<int64_t>();
  else answers.values = labels.as<float>();
  return answers;
}

Bindings TrainingData::largest(const Graph& graph, int64_t parts, const Batches& batches) const {
  return largest(sources_, graph, parts, batches);
}

Bindings TrainingData::largest_of_teacher(const Graph& graph, int64_t parts) const {
  return largest(teacher_sources_, graph, parts, *train_);
}

Bindings TrainingData::largest(const std::vector<Source>& sources, const Graph& graph, int64_t parts,
                               const Batches& batches) const {
  int64_t batch = 0;
  for (const std::vector<int64_t>& each : batches.plan(0)) batch = std::max(batch, std::ssize(each));
  return sizes_of(sources, graph, (batch + parts - 1) / parts, batches);
}

Bindings TrainingData::sizes_of(const std::vector<Source>& sources, const Graph& graph, int64_t rows,
                                const Batches& batches) const {
  int64_t longest = 0;
  if (tokens_)
    for (int64_t row : batches.rows()) longest = std::max(longest, tokens_->length(row));
  Bindings sizes;
  for (const Source& source : sources) {
    const Shape& shape = source.type.shape;
    std::vector<int64_t> actual{rows};
    if (source.kind <= Source::Kind::types) {
      actual.push_back(longest);
    } else if (source.kind == Source::Kind::images) {
      const Tensor first = data_.images.read(batches.rows().front());
      for (int64_t size : {data_.images.channels, images_.height > 0 ? images_.height : first.dim(1),
                           images_.width > 0 ? images_.width : first.dim(2)})
        actual.push_back(size);
    } else {
      const std::vector<int64_t>& whole = data_.arrays[source.array].tensor.shape();
      actual.insert(actual.end(), whole.begin() + 1, whole.end());
    }
    bind_shape(shape, actual, sizes, fmt::format("input \"{}\"", source.name));
  }
  for (const std::string& symbol : graph.symbols()) sizes.try_emplace(symbol, rows);
  return sizes;
}

namespace {

// Rows of the smallest part of a batch, those of all processes together, as Batches and divided() cut it.
int64_t rows_of_smallest_part(int64_t rows, int64_t parts, int64_t ranks) {
  const int64_t share = (rows + ranks - 1) / ranks, of_each = (share + parts - 1) / parts;
  std::vector<int64_t> found(static_cast<size_t>((share + of_each - 1) / of_each), 0);
  for (int64_t row = 0; row < rows; ++row) ++found[static_cast<size_t>(row % share / of_each)];
  return std::ranges::min(found);
}

}  // namespace

const TrainedNorm* TrainingData::starved_norm(const TrainGraphs& graphs, int64_t rows, int64_t ranks) const {
  const Bindings sizes = sizes_of(sources_, graphs.evaluate, rows_of_smallest_part(rows, parts_, ranks), *train_);
  const auto is_starved = [&](const TrainedNorm& norm) { return norm.values.evaluate(sizes) < 2; };
  const auto found = std::ranges::find_if(graphs.norms, is_starved);
  return found == graphs.norms.end() ? nullptr : &*found;
}

std::string TrainingData::fit_norms(const TrainGraphs& graphs, int ranks) {
  if (graphs.norms.empty()) return "";
  if (const TrainedNorm* norm = starved_norm(graphs, batch_, ranks))
    fail(
        "the batch norm of {} would see a single value of each channel, of which it makes no variance: a batch has {} "
        "rows{}{}. Give larger batches (--batch){}, or leave the norm as it is (--rule '{}=frozen')",
        norm->name, batch_, parts_ > 1 ? fmt::format(" in {} parts", parts_) : "",
        ranks > 1 ? fmt::format(" over {} processes", ranks) : "", parts_ > 1 ? " or fewer --parts" : "", norm->name);
  const int64_t left = std::ssize(train_->rows()) % batch_;
  if (left == 0) return "";
  const TrainedNorm* norm = starved_norm(graphs, left, ranks);
  if (!norm) return "";
  train_options_.order.drop_last = true;
  train_ = std::make_unique<Batches>(data_, train_->rows(), train_options_, tokens_ ? &*tokens_ : nullptr,
                                     tokenizer_ ? &tokenizer_->spec() : nullptr);
  return fmt::format(
      "each epoch leaves out {}, {}: in the batch that is left over, the batch norm of {} would see a single value of "
      "each channel",
      left == 1 ? "one row" : fmt::format("{} rows", left), in_order_ ? "always the last" : "another time others",
      norm->name);
}

std::vector<double> TrainingData::balanced_weights() const {
  std::vector<double> counts(static_cast<size_t>(needs_.width), 0);
  const auto count = [&](int64_t id) {
    if (id >= 0) ++counts[static_cast<size_t>(id)];
  };
  for (int64_t row : train_->rows()) {
    if (const auto* labels = std::get_if<ClassLabels>(&data_.labels)) count(labels->ids[static_cast<size_t>(row)]);
    if (const auto* labels = std::get_if<TokenLabels>(&data_.labels))
      for (int64_t id : labels->ids[static_cast<size_t>(row)]) count(id);
  }
  double total = 0;
  for (double each : counts) total += each;
  for (size_t c = 0; c < counts.size(); ++c) {
    if (counts[c] == 0) fail("class-weights can't be balanced: no row to train on is of class \"{}\"", needs_.names[c]);
    counts[c] = total / (counts[c] * static_cast<double>(needs_.width));
  }
  return counts;
}

}  // namespace hone
