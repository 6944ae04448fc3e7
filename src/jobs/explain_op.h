// hone explain --op: the plan of one op, without a model around it.
#pragma once

#include <array>
#include <span>
#include <string>

#include "base/option_tables.h"
#include "jobs/load_model.h"

namespace hone {

struct DequantizeOptions {
  std::array<int64_t, 2> shape{4096, 14336};  // rows and columns
  Format format;                              // packed
  DType type = DType::bf16;                   // of the result: f32 or bf16
};

// The same as flags, of hone explain --op dequantize.
struct DequantizeFlags {
  std::string shape = "4096,14336", format = "mxint8", type = "bf16";
  DequantizeOptions dequantize() const;
  static std::span<const OptionField<DequantizeFlags>> fields();
};

// "4096,14336". Throws Error for anything but two sizes of 1 or more.
std::array<int64_t, 2> parse_matrix_shape(const std::string& text);

// Throws Error, about the flag, unless matrices can be packed in the format.
void refuse_without_codes(const char* flag, const Format& format);

// A packed matrix as the input, decoded as the output. Throws Error where the format has no codes, or none in this
// shape.
Model dequantize_model(const DequantizeOptions& options);

}  // namespace hone
