#include "ir/value_name.h"

namespace hone {

bool is_value_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}

std::string value_name(std::string_view wanted) {
  std::string name(wanted.empty() ? "v" : wanted);
  for (char& c : name)
    if (!is_value_name_char(c)) c = '_';
  return name;
}

}  // namespace hone
