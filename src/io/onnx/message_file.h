// One protobuf message as a file, read so that no damaged or hostile file does harm: its size and nesting are bounded,
// and an Error says what the bytes look like or at which byte they break.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/mapped_file.h"
#include "io/onnx/large_data.h"
#include "io/onnx/onnx.pb.h"

namespace hone::onnx {

using Message = google::protobuf::MessageLite;

// Fills `message` but for the large data that is returned, which stays in the file; from a stream over the file where
// there is none, so that little but the message itself is in memory. Throws Error.
std::vector<LargeData> read_message(const MappedFile& file, ModelProto& message);
void parse_message(std::string_view bytes, const std::string& source, Message& message);

constexpr int kMaxNesting = 100;  // messages within messages: 33 graphs within attributes of nodes of graphs

}  // namespace hone::onnx
