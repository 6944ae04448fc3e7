// Parts that weight layouts share: codes as rows of bits, and the formats of integers that most of them hold.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/tensor.h"

namespace hone {

// ".s=bf16" for scales stored as such, "" for f32. Error naming the tensor for other types.
std::string stored_scale_option(const Tensor& scales, const std::string& name);
DType stored_scale_dtype(const Format& format);

// Codes of `bits` each, a row after the other, each row a stream of bits that ends with whole bytes; and back.
std::vector<uint32_t> unpacked_rows(std::span<const std::byte> rows, int64_t row_bytes, int64_t count, int64_t columns,
                                    int bits);
std::vector<std::byte> packed_rows(std::span<const uint32_t> codes, int64_t count, int64_t columns, int bits,
                                   int64_t row_bytes);

Tensor tensor_of(const Format& format, const std::vector<int64_t>& shape, std::span<const uint32_t> codes,
                 std::span<const uint32_t> scales, std::span<const uint32_t> zero_points);
std::vector<uint32_t> integers_of(const Tensor& tensor);  // bit patterns of elements of 1, 2 or 4 bytes
Tensor of_integers(DType dtype, std::vector<int64_t> shape, std::span<const uint32_t> bits);

[[noreturn]] void refuse_tensor(const std::string& name, const Tensor& tensor, const std::string& accepted);

// Integers of 2 to 8 bits on rows of [N,K], in groups along them or one group a row, with or without zero points: what
// the layouts for integers have in common. None for other formats and shapes.
struct IntegerRows {
  int bits = 0;
  bool has_zero_points = false;
  int64_t group = 0;  // elements that share a scale; 0: those of a row
  std::string scale_option = {};

  Format format() const;
  int64_t groups(int64_t columns) const { return group == 0 ? 1 : (columns + group - 1) / group; }
};
std::optional<IntegerRows> integer_rows(const Tensor& weight);

// The weights that no tool of this layout could read, in one Error.
[[noreturn]] void refuse_formats(const char* layout, const std::vector<std::string>& refused, const char* accepted);

}  // namespace hone
