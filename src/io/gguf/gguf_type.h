// The types that tensors of a GGUF file have: their numbers in the file, the size of their blocks, and which of hone's
// formats has the same values (docs/gguf.md).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "ir/type.h"

namespace hone {

struct BlockLayout;  // io/gguf/block_layout.h

struct GgufType {
  uint32_t id;
  const char* name;
  int64_t block;                  // elements; a row is made of whole blocks
  int64_t bytes;                  // of a block
  const char* format;             // of hone, with the same values; "" without one. Of codebooks it is wider
  const BlockLayout* layout;      // of types with a packed format
  std::optional<DType> dtype;     // of plain types
  const char* refused = nullptr;  // why tensors of it are not read
  bool is_packed() const { return layout != nullptr; }
  double bits() const { return 8.0 * static_cast<double>(bytes) / static_cast<double>(block); }
};

constexpr uint32_t kNvfp4Type = 40;

std::span<const GgufType> gguf_types();
const GgufType* gguf_type(uint32_t id);  // nullptr: unknown
// Of a name; Error that lists what is written otherwise.
const GgufType& writable_gguf_type(std::string_view name);
bool is_codebook(const GgufType& type);  // its blocks name entries of a codebook
bool is_writable(const GgufType& type);
std::string known_gguf_types();  // "F32, F16, Q4_0, ..."

}  // namespace hone
