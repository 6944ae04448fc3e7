#include "jobs/training_choices.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "data/reader.h"
#include "importers/class_names.h"
#include "train/losses/loss.h"

namespace hone {

Dataset read_for(const Model& model, const TrainModelOptions& options) {
  Dataset data = read_dataset(options.data, options.reading);
  const std::vector<std::string> known = classes_of(model);
  const std::span<const std::string> names = class_names(data.labels);
  const bool is_known =
      !names.empty() && names.size() <= known.size() &&
      std::ranges::all_of(names, [&](const auto& name) { return std::ranges::count(known, name) > 0; });
  if (!is_known || !options.reading.classes.empty() || std::ranges::equal(names, known)) return data;
  DataOptions as_model = options.reading;
  as_model.classes = known;
  return read_dataset(options.data, as_model);
}

std::string loss_for(const TrainingOptions& options, const LabelNeeds& needs) {
  if (options.loss.empty()) return needs.loss;
  const LossDef& def = find_loss(options.loss);
  if (def.classes != (needs.kind == TargetKind::classes))
    fail("the loss {} does not go with the labels, which are {}; it is {}", def.name, to_string(needs.kind), def.doc);
  return def.name;
}

std::vector<double> class_weights(const std::string& text, const TrainingData& data) {
  if (text.empty()) return {};
  if (text == "balanced") return data.balanced_weights();
  std::vector<double> weights;
  for (const std::string& part : split(text, ',')) {
    const std::string_view number = trim(part);
    double value = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
    if (error != std::errc() || end != number.data() + number.size())
      fail("class-weights: \"{}\" is no number; expected \"balanced\" or numbers separated by commas", part);
    weights.push_back(value);
  }
  return weights;
}

std::optional<DistillationOptions> distillation_of(const TrainingOptions& o, const LabelNeeds& needs) {
  if (o.teacher.empty()) return std::nullopt;
  if (loss_for(o, needs) == "mse" && o.temperature != TrainingOptions().temperature)
    fail("temperature is of classes, and the loss is mse: numbers are compared as they are");
  return DistillationOptions{
      .temperature = o.temperature, .weight = o.distill_weight, .layer_weight = o.distill_layer_weight};
}

std::string memory_line(const TrainingMemory& m) {
  const auto bytes = [](int64_t n) { return human_bytes(static_cast<double>(n)); };
  return fmt::format(
      "training takes {}: {} of trained weights, {} of the optimizer's state, {} of other weights, {} of activations "
      "and gradients, {} of scratch memory, {} of weights laid out for products, {} of outputs, {} of data, {} of "
      "machine code and what made it{}{}",
      bytes(m.total()), bytes(m.parameters), bytes(m.state), bytes(m.constants), bytes(m.values), bytes(m.scratch),
      bytes(m.laid_out), bytes(m.outputs), bytes(m.data), bytes(m.code),
      m.exchange > 0 ? fmt::format(", {} of gradients of other processes", bytes(m.exchange)) : "",
      m.teacher > 0 ? fmt::format(", {} of the teacher", bytes(m.teacher)) : "");
}

}  // namespace hone
