#include "device/x86/gemm/describe.h"

namespace hone {

std::string weights_of(const GemmPlan& plan, const GemmShape& s) {
  const std::string type = plan.w_format.empty() ? std::string(to_string(plan.w)) : plan.w_format;
  switch (s.source) {
    case WeightSource::dense:
      return type + " weights";
    case WeightSource::codes:
      return type + " weights decoded in the loop";
    case WeightSource::unpacked:
      return type + " weights decoded a panel at a time";
    case WeightSource::activation:
      return fmt::format("{} right operand laid out a panel at a time", type);
  }
  return type;
}

std::string products_of(const GemmShape& s) {
  if (s.tiles)
    return s.integers ? fmt::format("int8 products of tiles ({})", s.a == DType::u8 ? "tdpbusd" : "tdpbssd")
                      : "bf16 products of tiles (tdpbf16ps)";
  if (s.integers) return s.dot ? "dot products of bytes" : "dot products of words";
  if (s.widens_rows) return "bf16 rows widened for f32 products";
  return s.dot ? "bf16 dot products" : s.a == DType::bf16 ? "bf16 operands multiplied in f32" : "f32 products";
}

}  // namespace hone
