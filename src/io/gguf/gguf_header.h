// The header of a GGUF file (versions 2 and 3): metadata, and where each tensor lies. Every length is held against the
// bytes that are there before anything is multiplied or allocated.
// https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
#pragma once

#include <string>
#include <vector>

#include "io/gguf/gguf_type.h"
#include "io/gguf/gguf_value.h"

namespace hone {

struct GgufEntry {
  std::string name;
  const GgufType* type = nullptr;
  std::vector<int64_t> shape;  // outermost first; the file has it the other way round
  uint64_t begin = 0;          // of its bytes, in the file
  uint64_t bytes = 0;
};

struct GgufHeader {
  GgufMetadata metadata;
  std::vector<GgufEntry> tensors;  // in the order of the file
  uint64_t alignment = 32;
};

// `file` holds all of it, and outlives the metadata; `source` names it in errors.
GgufHeader parse_gguf_header(std::span<const std::byte> file, const std::string& source);

constexpr std::string_view kGgufMagic = "GGUF";
constexpr int64_t kMostGgufDims = 4;
constexpr size_t kMostGgufName = 63;  // bytes of a tensor's name

}  // namespace hone
