// map_values: elements looked up in a table of keys and values.
#include <cmath>
#include <unordered_map>

#include "ops/elements.h"
#include "ops/rules.h"

namespace hone {
namespace {

std::vector<TensorType> infer_map_values(const InferArgs& a) {
  if (a[1].dtype != a[0].dtype)
    fail("the keys are {} but x is {}; element types must be equal", to_string(a[1]), to_string(a[0]));
  expect_rank(a[1], 1, 1, "the keys");
  expect_rank(a[2], 1, 1, "the values");
  expect_dim(a[2].shape[0], a[1].shape[0], "the number of values, that of keys,");
  if (a[3].dtype != a[2].dtype)
    fail("the default is {} but the values are {}; element types must be equal", to_string(a[3]), to_string(a[2]));
  expect_rank(a[3], 0, 0, "the default");
  return {plain_type(a[2].dtype, a[0].shape)};
}

// The position of each element of x among the keys, of equal ones the last; -1 where it is none. NaN is found as NaN.
template <class T>
std::vector<int64_t> found(const std::vector<T>& x, const std::vector<T>& keys) {
  std::unordered_map<T, int64_t> positions;
  int64_t nan = -1;
  const auto is_nan = [](const T& value) {
    if constexpr (std::is_floating_point_v<T>) return std::isnan(value);
    else return false;
  };
  for (size_t i = 0; i < keys.size(); ++i) (is_nan(keys[i]) ? nan : positions[keys[i]]) = static_cast<int64_t>(i);
  std::vector<int64_t> result;
  result.reserve(x.size());
  for (const T& value : x) {
    const auto at = is_nan(value) ? positions.end() : positions.find(value);
    result.push_back(is_nan(value) ? nan : at == positions.end() ? -1 : at->second);
  }
  return result;
}

std::vector<Tensor> eval_map_values(const EvalArgs& a) {
  const std::vector<int64_t> positions =
      a[0].dtype() == DType::string
          ? found(a[0].string_values(), a[1].string_values())
          : with_elements(a[0], [&]<class T>(const std::vector<T>& x) { return found(x, elements_as<T>(a[1])); });
  const Tensor values = plain(a[2]), fallback = plain(a[3]);
  ElementWriter out(values.dtype(), a[0].shape());
  for (const int64_t at : positions) out.append(at < 0 ? fallback : values, std::max<int64_t>(at, 0));
  return {out.finish()};
}

}  // namespace

extern constinit const OpDef map_values_def{
    .name = "map_values",
    .doc =
        "values[i] where keys[i] equals the element of x, of several the last; the default where none does. Operands: "
        "x, keys[K], values[K], default[]; keys as x, any types.",
    .operands = {"x", "keys", "values", "default_value"},
    .infer = infer_map_values,
    .eval = eval_map_values,
    .no_gradient = "texts do not change smoothly"};

}  // namespace hone
