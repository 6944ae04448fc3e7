#include "device/x86/gemm/describe.h"

namespace hone {

std::string weights_of(const GemmPlan& plan, const GemmShape& s) {
  const std::string type = plan.w_format.empty() ? std::string(to_string(plan.w)) : plan.w_format;
  if (s.from<DensePanels>()) return type + " weights";
  if (s.from<StreamedCodes>()) return type + " weights decoded in the loop";
  if (s.from<UnpackedCodes>()) return type + " weights decoded a panel at a time";
  return type + " right operand laid out a panel at a time";
}

std::string products_of(const GemmShape& s) {
  switch (s.unit) {
    case ProductUnit::f32:
      if (s.left == LeftRows::widened) return "bf16 rows widened for f32 products";
      return s.a == DType::bf16 ? "bf16 operands multiplied in f32" : "f32 products";
    case ProductUnit::bf16:
      return "bf16 dot products";
    case ProductUnit::int16:
      return "dot products of words";
    case ProductUnit::int8:
      return "dot products of bytes";
    case ProductUnit::bf16_tiles:
      return "bf16 products of tiles (tdpbf16ps)";
    case ProductUnit::int8_tiles:
      return fmt::format("int8 products of tiles ({})", s.a == DType::u8 ? "tdpbusd" : "tdpbssd");
  }
  CHECK(false);
}

}  // namespace hone
