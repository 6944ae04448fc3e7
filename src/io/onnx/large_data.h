// Weights of a model file that stay where they are: what protobuf parses is the message without them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hone::onnx {

struct LargeData {
  int initializer = 0;     // of the main graph, the first being 0
  std::string_view bytes;  // its raw_data
};

struct CutModel {
  std::string message;          // a ModelProto
  std::vector<LargeData> data;  // in ascending order
};

// A ModelProto without raw_data of 16 KiB or more. None where such data is less than half of the bytes, and for bytes
// that are no message of that kind: to say what is wrong with them is up to whoever parses them as they are.
std::optional<CutModel> without_large_data(std::string_view bytes);

}  // namespace hone::onnx
