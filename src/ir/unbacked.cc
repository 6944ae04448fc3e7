#include "ir/unbacked.h"

#include <algorithm>
#include <cctype>

namespace hone {
namespace {

bool is_unbacked(const std::string& symbol) {
  return symbol.size() > 1 && symbol[0] == '_' && std::isdigit(static_cast<unsigned char>(symbol[1]));
}

}  // namespace

bool depends_on_data(const Dim& dim) {
  if (dim.is_unknown()) return true;
  std::vector<std::string> names;
  dim.collect_symbols(names);
  return std::any_of(names.begin(), names.end(), is_unbacked);
}

bool depends_on_data(const Shape& shape) {
  return std::any_of(shape.begin(), shape.end(), [](const Dim& dim) { return depends_on_data(dim); });
}

}  // namespace hone
