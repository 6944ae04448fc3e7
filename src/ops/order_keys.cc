#include "ops/order_keys.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace hone {
namespace {

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();

// The bits of a number that is not negative grow with it; those of its negative are the same with the sign bit set.
int64_t key_of(double value) {
  if (std::isnan(value)) return std::numeric_limits<int64_t>::max();
  const auto bits = std::bit_cast<int64_t>(value);
  return bits >= 0 ? bits : kLeast - bits;
}

std::vector<int64_t> ranks(const std::vector<std::string>& values) {
  std::vector<std::string> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  std::vector<int64_t> result;
  for (const std::string& value : values)
    result.push_back(std::lower_bound(sorted.begin(), sorted.end(), value) - sorted.begin());
  return result;
}

}  // namespace

std::vector<int64_t> order_keys(const Tensor& tensor) {
  if (tensor.dtype() == DType::string) return ranks(tensor.string_values());
  std::vector<int64_t> keys;
  if (is_float(tensor.dtype())) {
    for (double value : tensor.to_doubles()) keys.push_back(key_of(value));
    return keys;
  }
  keys = tensor.to_integers();
  if (tensor.dtype() == DType::u64)
    for (int64_t& key : keys) key ^= kLeast;  // the upper half was read as negative
  return keys;
}

}  // namespace hone
