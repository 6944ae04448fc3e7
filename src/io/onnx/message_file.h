// One protobuf message as a file, read so that no damaged or hostile file does harm: its size and nesting are bounded,
// and an Error says what the bytes look like or at which byte they break.
#pragma once

#include <string>
#include <string_view>

#include "io/onnx/onnx.pb.h"

namespace hone::onnx {

using Message = google::protobuf::MessageLite;

// Fills `message` from a stream over the file, so that little but the message itself is in memory. Throws Error.
void read_message(const std::string& path, Message& message);
void parse_message(std::string_view bytes, const std::string& source, Message& message);

constexpr int kMaxNesting = 100;  // messages within messages: 33 graphs within attributes of nodes of graphs

}  // namespace hone::onnx
