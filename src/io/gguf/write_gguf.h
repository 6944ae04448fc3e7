// Writing a GGUF file (version 3): plain tensors as the type of their elements, packed ones as the blocks of the type
// that has their format, bit for bit.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "io/gguf/gguf_type.h"
#include "io/safetensors.h"

namespace hone {

// What a key stands for: the types that llama.cpp reads of its own keys.
using GgufSetting = std::variant<uint32_t, int32_t, float, bool, std::string, std::vector<std::string>,
                                 std::vector<int32_t>, std::vector<float>>;
using GgufSettings = std::map<std::string, GgufSetting>;

// The type whose values are those of the tensor: by its dtype or format. Error that names the types which are written;
// for rows that are no whole blocks one that names the nearest type which they fit.
const GgufType& gguf_type_of(const std::string& name, const Tensor& tensor);

// The type that is nearest to `wanted` in bits a weight, of those with rows of `row` elements: what a user is told,
// never what is written in its place.
const GgufType& nearest_gguf_type(const GgufType& wanted, int64_t row);

// Atomically, tensors in the order given. `settings` has general.architecture and no general.alignment.
void write_gguf(const std::string& path, std::span<const NamedTensor> tensors, const GgufSettings& settings);

}  // namespace hone
