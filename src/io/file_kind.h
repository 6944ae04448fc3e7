// What kind of file bytes are, by how they begin: for messages about files that can't be read.
#pragma once

#include <string>
#include <string_view>

namespace hone {

// "a safetensors file", with advice where there is some; "" when the bytes look like no kind that is known.
std::string file_kind(std::string_view bytes);

}  // namespace hone
