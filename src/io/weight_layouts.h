// Quantized weights as other tools store them: some plain tensors, and words about them in config.json or in the file's
// metadata, that together mean one weight. A layout reads them as a packed tensor and writes one as them, bit for bit:
// the same codes, scales and zero points.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "io/safetensors.h"

namespace hone {

// What files hold, as layouts look at it.
struct StoredWeights {
  std::function<std::optional<Tensor>(const std::string& name)> find;           // none when absent
  std::function<std::optional<std::string>(const std::string& name)> metadata;  // of the files
  const Json& scheme;  // quantization_config of config.json; null without one

  Tensor get(const std::string& name, const std::string& why) const;  // Error naming the tensor when absent
};

// What a model's weights become.
struct WrittenWeights {
  std::vector<NamedTensor> tensors;
  std::map<std::string, std::string> metadata;
  Json scheme;                     // quantization_config; null when nothing is to be said
  std::vector<std::string> notes;  // what does not come back to the last bit, a sentence each
};

struct WeightLayoutDef {
  const char* name;
  const char* doc;
  std::string (*key)(const std::string& weight);  // the tensor that shows that `weight` is stored so
  // Called when there is such a tensor. Throws Error that names the tensor at fault and what would be accepted.
  Tensor (*read)(const StoredWeights& stored, const std::string& weight, const std::vector<int64_t>& shape);
  // Packed and plain weights by name. Throws Error naming the weights whose formats it has no room for. nullptr: it is
  // only read.
  WrittenWeights (*write)(const std::map<std::string, Tensor>& weights) = nullptr;
};

std::span<const WeightLayoutDef* const> weight_layouts();       // read in this order
const WeightLayoutDef& writable_layout(std::string_view name);  // Error with the known ones

// Throws Error for a quantization_config (of the file `source`) that no layout knows.
void check_scheme(const Json& scheme, const std::string& source);

// Parts that layouts share.

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
