// Why bytes are not the message they should be. Called when reading has failed: nothing here is in the way of a good
// file.
#pragma once

#include <string>
#include <string_view>

namespace hone::onnx {

// The first field that breaks, "byte 17: field 7 of GraphProto says ...": walks over the fields of `message`
// ("ModelProto") and of those messages within it that can be large or deep. `max_nesting` counts messages within
// messages.
std::string first_fault(std::string_view bytes, std::string_view message, int max_nesting);

}  // namespace hone::onnx
