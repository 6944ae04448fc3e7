// Names of values in text: letters, digits, '_' and '.', e.g. %encoder.layer.0.weight.
#pragma once

#include <string>
#include <string_view>

namespace hone {

bool is_value_name_char(char c);
std::string value_name(std::string_view wanted);  // other characters become '_'; "v" when empty

}  // namespace hone
