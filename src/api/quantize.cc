#include <hone/quantize.h>

#include "api/by_names.h"
#include "api/guarded.h"
#include "api/models.h"
#include "api/option_tables.h"
#include "jobs/quantize_flags.h"

namespace hone::api {
namespace {

QuantizedTensor described(const QuantizeChoice& choice) {
  QuantizedTensor tensor;
  tensor.name = choice.name, tensor.shape = choice.shape;
  tensor.before = choice.before, tensor.after = choice.after;
  tensor.decided_by = choice.decided_by;
  return tensor;
}

QuantizedTensor described(const hone::QuantizedTensor& quantized) {
  QuantizedTensor tensor = described(quantized.choice);
  tensor.elements = quantized.elements;
  tensor.bytes_before = quantized.bytes_before, tensor.bytes_after = quantized.bytes_after;
  tensor.sqnr_db = quantized.sqnr_db;
  return tensor;
}

}  // namespace

QuantizeResult quantize(const Model& model, const QuantizeOptions& options, const Task& task) {
  return quantize_by_names(model, guarded([&] { return given(options); }), task);
}

QuantizeResult quantize_by_names(const Model& model, const GivenOptions& given, const Task& task) {
  return guarded([&] {
    const TaskContext context = context_of(task);
    context.tell("quantizing");
    const auto flags = options_of<QuantizeFlags>(given);
    Model made = engine(model);
    QuantizedModel quantized = quantize_model(made, flags.quantize(), flags.compute_type(), flags.calibration());
    context.check();
    made.graph = std::move(quantized.graph);
    QuantizeResult result{
        wrapped(std::move(made)), {}, {}, quantized.before.weight_bytes, quantized.after.weight_bytes};
    for (const hone::QuantizedTensor& tensor : quantized.tensors) result.tensors.push_back(described(tensor));
    for (const QuantizeChoice& choice : quantized.activations) result.activations.push_back(described(choice));
    return result;
  });
}

}  // namespace hone::api
