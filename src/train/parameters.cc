#include "train/parameters.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string_view>

#include "base/regex.h"
#include "ir/fixed_tensors.h"
#include "ops/calls/activations.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/batch_norm.h"
#include "ops/calls/batch_norm_train.h"
#include "ops/calls/cast.h"
#include "ops/calls/comparison.h"
#include "ops/calls/concat.h"
#include "ops/calls/einsum.h"
#include "ops/calls/expand.h"
#include "ops/calls/fake_quant.h"
#include "ops/calls/gather.h"
#include "ops/calls/linear.h"
#include "ops/calls/matmul.h"
#include "ops/calls/normalisation.h"
#include "ops/calls/quantize_linear.h"
#include "ops/calls/rounding.h"
#include "ops/calls/slice.h"
#include "ops/calls/split.h"
#include "ops/calls/strided_slice.h"
#include "ops/calls/tile.h"
#include "ops/calls/transcendental.h"
#include "ops/calls/transpose.h"
#include "passes/captures.h"
#include "passes/match.h"

namespace hone {
namespace {

// Names that exporters give to constants of their own: onnx::Mul_12, val_3, /norm/Constant_1_output_0, ortshared_1_0.
constexpr const char* kMadeUp =
    "(?i)::|(^|[/._])(val|const|constant|literal|scalar|ortshared|_?tensor_constant|lifted_tensor)([/._:0-9]|$)|"
    "const_fold|(^|[/._])(eps|epsilon|zero|half|one|two)([_:0-9]|$)";
// Tables of angles and masks, which frameworks keep beside the parameters: `rotary.cos_cached`, `inv_freq`,
// `attn_mask`.
constexpr const char* kBuffers =
    "(?i)(^|[/._:])((cos|sin|freqs?|inv_freq|freqs_(cos|sin|cis))(_cache|_cached|_table|_emb)?|"
    "((attn|attention|causal|padding|key_padding)_)?mask|running_(mean|var)|num_batches_tracked)(_?[0-9]+)?$";
// Names of Constant nodes: what a program has as a literal list of numbers, unless a layer reads it.
constexpr const char* kListed = "(^|/)Constant(_[0-9]+)?_output_0$|lifted_tensor|_tensor_constant";
// Larger numbers are of masks.
constexpr double kLargestNumber = 1e4;

bool is_floating(const TensorType& type) { return is_float(type.dtype) && type.container == Container::none; }

// Elements along one axis at most, in however many dimensions.
bool is_vector(const std::vector<int64_t>& shape) {
  return std::ranges::count_if(shape, [](int64_t size) { return size != 1; }) <= 1;
}

// A reader of a tensor, behind what only moves elements.
struct Reader {
  const Graph* graph;
  NodeId node;
  size_t operand;
  ValueId value;    // what it reads
  std::string way;  // what the tensor passes first: "behind slice", "in a body of if"; "": nothing
};

bool moves_first(const Graph& graph, const Node& node) {
  const OpDef* const op = node.op;
  if (op == &cast_def) return is_float(graph.type(node.results[0]).dtype);
  return op->view || op == &transpose_def || op == &expand_def || op == &slice_def || op == &strided_slice_def ||
         op == &split_def || op == &tile_def || op == &identity_def || op == &fake_quant_def;
}

// A stored tensor, or what only moves of such make.
bool is_stored(const Graph& graph, ValueId value) {
  for (; graph.producer(value) != kNone; value = graph.operand(graph.producer(value), 0)) {
    const Node& node = graph.node(graph.producer(value));
    if (node.op == &concat_def)
      return std::ranges::all_of(node.operands, [&](ValueId v) { return is_stored(graph, v); });
    if (!moves_first(graph, node)) return false;
  }
  return graph.value(value).kind == ValueKind::constant || graph.value(value).role == InputRole::parameter;
}

bool moves_only(const Graph& graph, const Node& node, size_t operand) {
  if (node.op == &concat_def) return is_stored(graph, node.results[0]);  // beside an activation it is one
  return operand == 0 && moves_first(graph, node);
}

void collect_readers(const Graph& graph, ValueId value, std::vector<Reader>& readers, const std::string& way = "");

void collect_readers(const Graph& graph, const Graph::Use& use, std::vector<Reader>& readers,
                     const std::string& way = "") {
  const Node& node = graph.node(use.node);
  const auto operand = static_cast<size_t>(use.operand);
  const auto way_by = [&](const char* what) { return way.empty() ? what + std::string(node.op->name) : way; };
  if (const std::optional<Capture> capture = capture_at(node, operand))
    collect_readers(*capture->body, capture->input, readers, way_by("in a body of "));
  else if (moves_only(graph, node, operand))
    for (ValueId result : node.results)
      collect_readers(graph, result, readers, node.op == &fake_quant_def ? way : way_by("behind "));
  else readers.push_back({&graph, use.node, operand, node.operands[operand], way});
}

void collect_readers(const Graph& graph, ValueId value, std::vector<Reader>& readers, const std::string& way) {
  for (const Graph::Use& use : graph.uses(value)) collect_readers(graph, use, readers, way);
}

// The value that ops change only element by element or in shape, a few steps on.
ValueId behind_arithmetic(const Graph& graph, ValueId value) {
  constexpr int kSteps = 4;
  for (int step = 0; step < kSteps; ++step) {
    const OpDef* const op = graph.producer_op(value);
    if (!op || (!op->view && op != &cast_def && op != &mul_def && op != &add_def)) break;
    const Node& node = graph.node(graph.producer(value));
    const bool second = node.operands.size() > 1 && (op == &mul_def || op == &add_def) &&
                        graph.type(node.operands[0]).rank() < graph.type(node.operands[1]).rank();
    value = node.operands[second ? 1 : 0];
  }
  return value;
}

bool is_normalised(const Graph& graph, ValueId value) {
  const OpDef* const op = graph.producer_op(behind_arithmetic(graph, value));
  if (op == &layer_norm_def || op == &rms_norm_def || op == &l2_normalise_def || op == &batch_norm_def) return true;
  if (op != &div_def) return false;
  const ValueId divisor = graph.operand(graph.producer(behind_arithmetic(graph, value)), 1);
  return graph.producer_op(divisor) == &sqrt_def;
}

// Added to the columns of what a layer sums.
bool is_added_to_product(const Reader& reader) {
  const Graph& graph = *reader.graph;
  const Node& node = graph.node(reader.node);
  if (node.op != &add_def) return false;
  const ValueId other = node.operands[1 - reader.operand];
  ValueId sums = other;
  if (graph.producer_op(sums) == &cast_def) sums = graph.operand(graph.producer(sums), 0);
  const OpDef* const op = graph.producer_op(sums);
  const TensorType &own = graph.type(reader.value), &type = graph.type(other);
  const bool sums_products = op == &matmul_def || op == &linear_def || op == &einsum_def;
  return sums_products && own.rank() > 0 && type.ranked && type.rank() > 0 && own.is_static() &&
         element_count(own.shape) == own.shape.back() && own.shape.back() == type.shape.back();
}

ParameterRole role_of(const Reader& reader) {
  using Role = ParameterRole;
  const Graph& graph = *reader.graph;
  const Node& node = graph.node(reader.node);
  const OpDef* const op = node.op;
  const OperandSpec& spec = op->operands.of(reader.operand);
  if (op == &fake_quant_def) return Role::step;
  if (spec.argument || spec.indices || op->no_gradient || op == &dequantize_linear_def) return Role::none;
  const bool any_float = std::ranges::any_of(node.results, [&](ValueId v) { return is_float(graph.type(v).dtype); });
  if (!any_float) return Role::none;
  if (op == &batch_norm_def || op == &batch_norm_train_def)
    return reader.operand == 0 ? Role::number : reader.operand < 3 ? Role::norm : Role::none;
  if (op == &layer_norm_def || op == &rms_norm_def) return reader.operand > 0 ? Role::norm : Role::number;
  if (op == &prelu_def && reader.operand == 1) return Role::slope;
  if (op == &gather_def) return Role::table;
  const std::string_view name = spec.name;
  if (spec.bias) return Role::bias;
  if (spec.weight || spec.factor || op == &einsum_def) return Role::weight;  // such as the b of a product
  if (!op->pointwise && (name == "b" || name == "bias")) return Role::bias;
  if (!op->pointwise && (name == "w" || name == "r")) return Role::weight;
  if (is_added_to_product(reader)) return Role::bias;
  const bool is_one = graph.type(reader.value).is_static() && element_count(graph.type(reader.value).shape) == Dim(1);
  if (!is_one && (op == &mul_def || op == &add_def) && is_normalised(graph, node.operands[1 - reader.operand]))
    return Role::norm;
  return Role::number;
}

bool multiplies(const Reader& reader) {
  const OpDef* const op = reader.graph->node(reader.node).op;
  const std::string_view operand = op->operands.of(reader.operand).name;
  return op == &mul_def || op == &div_def || operand == "scale" || operand == "weight";
}

// What is no number that is learned: an exponent, a bound, a choice; what is added before a root.
bool is_formula(const Reader& reader) {
  const OpDef* const op = reader.graph->node(reader.node).op;
  if (op == &pow_def || op == &min_def || op == &max_def || op == &clip_def || op == &where_def) return true;
  if (op != &add_def) return false;
  const std::vector<Graph::Use> uses = reader.graph->uses(reader.graph->result(reader.node));
  return std::ranges::any_of(uses, [&](const Graph::Use& use) {
    const OpDef* const next = reader.graph->node(use.node).op;
    return next == &sqrt_def || next == &rsqrt_def || next == &pow_def;
  });
}

bool holds_no_numbers(const Tensor& tensor) {
  const auto is_beyond = [](double v) { return !(std::abs(v) < kLargestNumber); };
  if (tensor.dtype() == DType::f32) return std::ranges::any_of(tensor.as<float>(), is_beyond);  // where they lie
  return std::ranges::any_of(tensor.to_floats(), is_beyond);
}

bool is_named_by_exporter(const std::string& name) {
  static const Regex made_up(kMadeUp);
  return made_up.search(name);
}

bool is_named_list(const std::string& name) {
  static const Regex listed(kListed);
  return listed.search(name);
}

bool is_named_buffer(const std::string& name) {
  static const Regex buffers(kBuffers);
  return buffers.search(name);
}

int64_t elements_of(const StoredTensor& tensor) { return element_count(tensor.shape); }

void judge(StoredTensor& stored, const Tensor& tensor, const std::vector<Reader>& readers) {
  const auto refuse = [&](std::string why, bool can_be) { stored.why_not = std::move(why), stored.can_be = can_be; };
  if (tensor.is_packed()) return refuse("packed as " + to_string(*tensor.format()), false);
  if (readers.empty()) return refuse("nothing that is computed reads it", false);
  if (tensor.elements() == 0) return refuse("without elements", false);
  if (stored.role == ParameterRole::none) {
    return refuse(
        is_statistic(stored) ? "a statistic of a batch norm" : "read as an argument, not as numbers that are learned",
        false);
  }
  const bool is_free = stored.role == ParameterRole::number || stored.role == ParameterRole::weight ||
                       stored.role == ParameterRole::table;
  if (is_free && is_named_buffer(stored.name)) return refuse("a table or mask by its name", true);
  // GroupNormalization is exported as InstanceNormalization by such ones and zeros.
  const bool is_arithmetic = stored.role == ParameterRole::number || stored.role == ParameterRole::norm;
  if (is_arithmetic && is_named_list(stored.name))
    return refuse("numbers under a name that exporters give to literals", true);
  if (stored.role != ParameterRole::number) return;
  if (elements_of(stored) == 1 && is_named_by_exporter(stored.name))
    return refuse("one number under a name that exporters make up", true);
  if (stored.shape.empty() && std::ranges::all_of(readers, is_formula))
    return refuse("an exponent, bound or epsilon of a formula", true);
  if (holds_no_numbers(tensor))
    refuse(fmt::format("holds numbers of {:g} and beyond, as masks do", kLargestNumber), true);
}

StoredTensor described(const Graph& graph, ValueId id) {
  const Tensor& tensor = *graph.constant(id);
  StoredTensor stored{.id = id, .name = graph.value(id).label, .shape = tensor.shape(), .ops = {}, .why_not = ""};
  std::vector<Reader> readers;
  collect_readers(graph, id, readers);
  for (const Reader& reader : readers) {
    stored.role = std::min(stored.role, role_of(reader));
    stored.multiplies = stored.multiplies || multiplies(reader);
    stored.ops.insert(reader.graph->node(reader.node).op->name);
  }
  stored.decays = stored.role == ParameterRole::weight || stored.role == ParameterRole::table ||
                  (stored.role == ParameterRole::number && !is_vector(stored.shape));
  judge(stored, tensor, readers);
  if (stored.why_not.empty() && is_fixed_tensor(graph, stored.name))
    stored.why_not = "a table that the model's source does not train";
  return stored;
}

// Why a body keeps a tensor that could be trained around it.
std::string why_in_body(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  return fmt::format("a weight of a body of {} (%{}), whose results have sizes that depend on data", node.op->name,
                     graph.value(node.results[0]).name);
}

}  // namespace

std::string_view to_string(ParameterRole role) {
  constexpr std::string_view kNames[] = {"weight", "table", "bias", "norm", "slope", "step", "number", "none"};
  return kNames[static_cast<size_t>(role)];
}

std::vector<StoredTensor> stored_tensors(const Graph& graph) {
  std::vector<StoredTensor> found;
  for (ValueId id : graph.constants())
    if (const Value& value = graph.value(id); !value.label.empty() && is_floating(value.type))
      found.push_back(described(graph, id));
  return found;
}

ParameterRole role_of_use(const Graph& graph, const Graph::Use& use) {
  std::vector<Reader> readers;
  collect_readers(graph, use, readers);
  ParameterRole role = ParameterRole::none;
  for (const Reader& reader : readers) role = std::min(role, role_of(reader));
  return role;
}

std::vector<StoredTensor> stored_codes(const Graph& graph) {
  std::vector<StoredTensor> codes;
  for (NodeId id : graph.nodes(dequantize_linear_def)) {
    const Value& value = graph.value(graph.operand(id, 0));
    if (value.kind != ValueKind::constant || value.label.empty()) continue;
    codes.push_back({.id = graph.operand(id, 0),
                     .name = value.label,
                     .shape = value.constant->shape(),
                     .ops = {"dequantize_linear"},
                     .why_not = fmt::format("codes of {} that dequantize_linear reads", to_string(value.type.dtype)),
                     .can_be = false});
  }
  return codes;
}

std::vector<StoredTensor> tensors_in_bodies(const Graph& graph) {
  std::vector<StoredTensor> found;
  for (NodeId id : graph.nodes()) {
    for (const Graph& body : graph.node(id).subgraphs) {
      const size_t own = found.size();
      for (const auto& tensors : {stored_tensors(body), stored_codes(body)})
        found.insert(found.end(), tensors.begin(), tensors.end());
      for (StoredTensor& tensor : std::span(found).subspan(own)) {
        tensor.id = kNone;
        tensor.can_be = false;
        if (tensor.why_not.empty()) tensor.why_not = why_in_body(graph, id);
      }
      const std::vector<StoredTensor> deeper = tensors_in_bodies(body);
      found.insert(found.end(), deeper.begin(), deeper.end());
    }
  }
  return found;
}

std::vector<StoredTensor> unseen_weights(const Graph& graph, std::span<const OpDef* const> seen_by) {
  std::vector<StoredTensor> unseen;
  for (StoredTensor& tensor : stored_tensors(graph)) {
    const bool is_weight = tensor.role == ParameterRole::weight || tensor.role == ParameterRole::table;
    if (!is_weight || tensor.shape.size() < 2 || (!tensor.why_not.empty() && tensor.can_be)) continue;
    std::vector<Reader> readers;
    collect_readers(graph, tensor.id, readers);
    const auto op_of = [](const Reader& reader) { return reader.graph->node(reader.node).op; };
    const auto sees = [&](const Reader& reader) {
      return reader.way.empty() && (seen_by.empty() || std::ranges::count(seen_by, op_of(reader)) > 0);
    };
    if (std::ranges::any_of(readers, sees)) continue;
    const Reader& first = readers.front();
    tensor.why_not = fmt::format("{} reads it{}{}", op_of(first)->name, first.way.empty() ? "" : " ", first.way);
    unseen.push_back(std::move(tensor));
  }
  return unseen;
}

bool is_statistic(const StoredTensor& tensor) {
  const auto is_norm = [](const std::string& op) {
    return op == batch_norm_def.name || op == batch_norm_train_def.name;
  };
  return tensor.role == ParameterRole::none && !tensor.ops.empty() && std::ranges::all_of(tensor.ops, is_norm);
}

bool is_literal(const StoredTensor& tensor) {
  return elements_of(tensor) == 1 && tensor.role >= ParameterRole::number && !tensor.why_not.empty();
}

}  // namespace hone
