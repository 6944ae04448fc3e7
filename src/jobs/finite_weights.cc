#include "jobs/finite_weights.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "base/error.h"
#include "ir/bodies.h"
#include "ops/calls/batch_norm.h"
#include "ops/calls/batch_norm_train.h"
#include "ops/calls/normalisation.h"
#include "runtime/check_finite.h"

namespace hone {
namespace {

bool lies_in_a_file(const Tensor& tensor) {
  const std::optional<Buffer::Source> source = tensor.data().source();
  return tensor.data().is_mapped() || (source && source->mapped);
}

// Decoded some MB at a time.
std::string fault_in_packed(const Tensor& tensor) {
  constexpr int64_t kPiece = int64_t{1} << 20;
  for (int64_t begin = 0; begin < tensor.elements(); begin += kPiece) {
    Tensor piece(DType::f32, {std::min(kPiece, tensor.elements() - begin)});
    unpack_range(*tensor.format(), tensor.shape(), tensor.planes(), begin, piece.mutable_as<float>());
    if (!first_not_finite(piece).empty())
      return fmt::format("codes of {} for NaN or infinities", to_string(*tensor.format()));
  }
  return "";
}

// "NaN at [0,3]", "" where there is none.
std::string fault_in(const Tensor& tensor) {
  return tensor.is_packed() ? fault_in_packed(tensor) : first_not_finite(tensor);
}

bool is_weight_of(const OpDef& op, int operand) {
  const OperandSpec& spec = op.operands.of(static_cast<size_t>(operand));
  const bool is_norm =
      &op == &batch_norm_def || &op == &batch_norm_train_def || &op == &layer_norm_def || &op == &rms_norm_def;
  return spec.weight || spec.bias || (is_norm && operand > 0);
}

class Search {
 public:
  explicit Search(const Graph& original) : original_(original) {}

  void look_at(const Graph& graph) {
    const std::vector<std::vector<Graph::Use>> uses = graph.all_uses();
    for (ValueId id : graph.constants()) {
      const Tensor& tensor = *graph.constant(id);
      if (tensor.container() != Container::none || lies_in_a_file(tensor)) continue;
      if (!is_float(tensor.dtype()) && !tensor.is_packed()) continue;
      const std::string fault = fault_in(tensor);
      if (fault.empty() || !is_computed(graph, id, uses[static_cast<size_t>(id)])) continue;
      const std::string& label = graph.value(id).label;
      faults.push_back(fmt::format("{} has {}", label.empty() ? "%" + graph.value(id).name : label, fault));
    }
  }

  std::vector<std::string> faults;

 private:
  // A weight that was a number before, or is new.
  bool is_computed(const Graph& graph, ValueId id, const std::vector<Graph::Use>& uses) const {
    const std::string& label = graph.value(id).label;
    const PlacedConstant before = label.empty() ? PlacedConstant() : find_labelled(original_, label);
    if (before.graph) return fault_in(before.tensor()).empty();
    for (const Graph::Use& use : uses)
      if (is_weight_of(*graph.node(use.node).op, use.operand)) return true;
    return false;
  }

  const Graph& original_;
};

}  // namespace

std::vector<std::string> nonfinite_weights(const Graph& graph, const Graph& original) {
  Search search(original);
  for_each_graph(graph, [&](const Graph& each) { search.look_at(each); });
  return search.faults;
}

void require_finite_weights(const Graph& graph, const Graph& original) {
  std::vector<std::string> faults = nonfinite_weights(graph, original);
  if (faults.empty()) return;
  constexpr size_t kMostListed = 5;
  const size_t all = faults.size();
  if (all > kMostListed) faults.resize(kMostListed), faults.push_back(fmt::format("{} more", all - kMostListed));
  fail(
      "weights that were computed are no numbers, and nothing is written: {}. They are too large for their type or "
      "format, or what they were computed from is; leave these tensors out (--skip), take a format of larger range, or "
      "train with a smaller rate",
      fmt::join(faults, ", "));
}

}  // namespace hone
