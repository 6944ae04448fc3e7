// Ops that pick elements by positions or order.
#include "io/onnx/export_node.h"

namespace hone::onnx {
namespace {

Names gather(const ExportNode& n) { return {n.emit("Gather", n.all_in(), n.take({"axis"}))}; }
Names gather_elements(const ExportNode& n) { return {n.emit("GatherElements", n.all_in(), n.take({"axis"}))}; }
Names gather_nd(const ExportNode& n) {
  return {n.emit("GatherND", {n.in(0), n.in_as(1, DType::i64)}, n.take({"batch_dims"}))};
}

std::string scatter(const ExportNode& n, const char* op_type, const Attributes& attributes) {
  const std::string reduction = n.attributes().get_or<std::string>("reduction", "none");
  if (reduction == "max" || reduction == "min") n.needs(18, std::string(op_type) + " with reduction " + reduction);
  return n.emit(op_type, n.all_in(), attributes);
}
Names scatter_elements(const ExportNode& n) { return {scatter(n, "ScatterElements", n.take({"axis", "reduction"}))}; }
Names scatter_nd(const ExportNode& n) { return {scatter(n, "ScatterND", n.take({"reduction"}))}; }

Names tensor_scatter(const ExportNode& n) {
  n.needs(24, "TensorScatter");
  Names inputs{n.in(0), n.in(1)};
  if (n.has(2)) inputs.push_back(n.in_as(2, DType::i64));
  const bool circular = n.integer("circular", 0) != 0;
  return {n.emit("TensorScatter", inputs,
                 {{"axis", n.integer("axis", -2)}, {"mode", std::string(circular ? "circular" : "linear")}})};
}

Names non_zero(const ExportNode& n) { return {n.emit("NonZero", {n.in(0)})}; }

// Operators that know neither bfloat16 nor bool move or compare such elements as others that hold them.
DType held_as(const ExportNode& n, DType boolean) {
  const DType dtype = n.type(0).dtype;
  return dtype == DType::bf16 ? DType::f32 : dtype == DType::boolean ? boolean : dtype;
}

Names top_k(const ExportNode& n) {
  const DType dtype = held_as(n, DType::u8);
  Names results = n.emit_all("TopK", {n.in_as(0, dtype), n.sizes_argument("k", 1)}, n.take({"axis", "largest"}), 2);
  results[0] = n.cast(results[0], dtype, n.type(0).dtype);
  return results;
}

Names unique(const ExportNode& n) {
  return n.emit_all("Unique", {n.in(0)}, n.take({"axis", "sorted"}), n.node().results.size());
}

Names reverse_sequence(const ExportNode& n) {
  const DType dtype = held_as(n, DType::boolean);
  const std::string y =
      n.emit("ReverseSequence", {n.in_as(0, dtype), n.in_as(1, DType::i64)}, n.take({"time_axis", "batch_axis"}));
  return {n.cast(y, dtype, n.type(0).dtype)};
}

constexpr ExportRule kRules[] = {
    {"gather", gather},         {"gather_elements", gather_elements},   {"gather_nd", gather_nd},
    {"non_zero", non_zero},     {"reverse_sequence", reverse_sequence}, {"scatter_elements", scatter_elements},
    {"scatter_nd", scatter_nd}, {"tensor_scatter", tensor_scatter},     {"top_k", top_k},
    {"unique", unique}};

}  // namespace

std::span<const ExportRule> indexing_rules() { return kRules; }

}  // namespace hone::onnx
