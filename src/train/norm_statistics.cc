#include "train/norm_statistics.h"

#include "base/error.h"
#include "ops/calls/batch_norm.h"
#include "ops/calls/batch_norm_train.h"
#include "passes/pipelines.h"

namespace hone {

Graph with_running_statistics(Graph model) {
  const auto is_weight = [&](ValueId id) { return model.constant(id) && !model.value(id).label.empty(); };
  for (NodeId id : model.nodes(batch_norm_train_def)) {
    const Node node = model.node(id);
    if (!is_weight(node.operands[3]) || !is_weight(node.operands[4])) continue;
    model.set_insertion_point(id);
    const ValueId y = model.emit(Call{.op = &batch_norm_def, .operands = node.operands, .attributes = node.attributes});
    model.set_insertion_point(kNone);
    model.replace_all_uses(node.results[0], y);
  }
  return run_pass(std::move(model), "remove_dead");
}

Graph with_measured_statistics(Graph model, std::span<const NamedTensors> batches, const SessionOptions& session) {
  CHECK(!batches.empty());
  Graph measured = model;
  measured.set_outputs({});
  std::vector<std::string> labels;
  for (NodeId id : measured.nodes(batch_norm_def)) {
    const Node node = measured.node(id);
    measured.set_insertion_point(id);
    Call call{.op = &batch_norm_train_def, .operands = node.operands, .attributes = node.attributes};
    call.attributes.set("momentum", 1.0);
    const std::vector<ValueId> results = measured.emit_all(std::move(call));
    measured.set_insertion_point(kNone);
    measured.replace_all_uses(node.results[0], results[0]);
    measured.erase(id);
    for (size_t i : {3u, 4u}) {
      labels.push_back(measured.value(node.operands[i]).label);
      CHECK(model.find_constant(labels.back()) != kNone, "a batch norm has statistics that are no weights");
      measured.add_output(results[i], labels.back());
    }
  }
  if (labels.empty()) return model;
  measured = run_pass(std::move(measured), "remove_dead");
  Session runs(std::move(measured), session);
  std::vector<std::vector<double>> sums(labels.size());
  for (const NamedTensors& batch : batches) {
    const std::vector<Tensor> found = runs.run(batch);
    for (size_t i = 0; i < labels.size(); ++i) {
      const std::vector<double> values = found[i].to_doubles();
      sums[i].resize(values.size());
      for (size_t c = 0; c < values.size(); ++c) sums[i][c] += values[c] / static_cast<double>(batches.size());
    }
  }
  for (size_t i = 0; i < labels.size(); ++i) {
    const ValueId id = model.find_constant(labels[i]);
    const Tensor& before = *model.constant(id);
    model.set_constant(id, Tensor::from_doubles(before.dtype(), before.shape(), sums[i]));
  }
  return model;
}

}  // namespace hone
