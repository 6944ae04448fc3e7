#include "jobs/op_flags.h"

namespace hone {
namespace {

std::vector<std::string> ops_to_time() { return {"attention", "linear", "dequantize"}; }
std::vector<std::string> types_to_time() { return {"f32", "bf16"}; }

constexpr OptionField<OpFlags> kFields[] = {
    flag("op",
         "Instead of models: one op, spelled out beside fused or with plain beside packed weights, with where the time "
         "goes",
         &OpFlags::op, {.choices = ops_to_time}),
    flag("shape",
         "With --op: batches,heads,length,columns of a head of attention (default 32,8,128,64); rows,columns of a "
         "matrix (default 4096,14336)",
         &OpFlags::shape, {.only_with = "op"}),
    flag("type", "With --op: type of attention's operands (default f32) or of the decoded matrix (default bf16)",
         &OpFlags::type, {.choices = types_to_time, .only_with = "op"}),
    flag("rows", "With --op linear: rows that the matrix multiplies (default 1)", &OpFlags::rows,
         {.least = 1, .only_with = "op"}),
    flag("weight-format", "With --op linear, dequantize: number format of the matrix (default mxint8)",
         &OpFlags::weight_format, {.only_with = "op"})};

void refuse(bool is_given, const char* flags, const std::string& op) {
  if (is_given) fail("{}: says nothing of --op {}; leave it out", flags, op);
}

void refuse_attention_flags(const OpFlags& flags) {
  refuse(flags.are_given(), "--queries, --kv-heads, --kv-format, --page-rows or --causal", flags.op);
}

DType dtype_of(const std::string& type) { return type == "bf16" ? DType::bf16 : DType::f32; }

}  // namespace

std::span<const OptionField<OpFlags>> OpFlags::fields() {
  static const auto all = joined_fields<OpFlags>(kFields, AttentionFlags::fields());
  return all;
}

AttentionBenchOptions OpFlags::attention() const {
  refuse(rows.has_value(), "--rows", op);
  refuse(!weight_format.empty(), "--weight-format", op);
  AttentionBenchOptions options = AttentionFlags::attention();
  options.shape = parse_attention_shape(shape.value_or("32,8,128,64"));
  options.type = dtype_of(type.value_or("f32"));
  return options;
}

LinearBenchOptions OpFlags::linear() const {
  refuse_attention_flags(*this);
  refuse(type.has_value(), "--type (--compute is what products are made in)", op);
  return {.shape = parse_matrix_shape(shape.value_or("4096,14336")),
          .rows = rows.value_or(1),
          .format = parse_format(weight_format.empty() ? "mxint8" : weight_format)};
}

DequantizeOptions OpFlags::dequantize() const {
  refuse_attention_flags(*this);
  refuse(rows.has_value(), "--rows", op);
  return {.shape = parse_matrix_shape(shape.value_or("4096,14336")),
          .format = parse_format(weight_format.empty() ? "mxint8" : weight_format),
          .type = dtype_of(type.value_or("bf16"))};
}

}  // namespace hone
