#include "ops/scatter.h"

#include "ops/elements.h"

namespace hone {
namespace {

std::string reduction_of(const Attributes& attributes) { return attributes.get_or<std::string>("reduction", "none"); }

Tensor replaced(const Tensor& data, std::span<const int64_t> positions, const Tensor& updates) {
  std::vector<int64_t> update_of(static_cast<size_t>(data.elements()), -1);
  for (size_t i = 0; i < positions.size(); ++i) update_of[static_cast<size_t>(positions[i])] = static_cast<int64_t>(i);
  ElementWriter out(data.dtype(), data.shape());
  for (size_t i = 0; i < update_of.size(); ++i)
    if (update_of[i] < 0) out.append(data, static_cast<int64_t>(i));
    else out.append(updates, update_of[i]);
  return out.finish();
}

template <class T>
T less_of(T a, T b) {
  return a != a || a <= b ? a : b;  // NaN wins
}
template <class T>
T more_of(T a, T b) {
  return a != a || a >= b ? a : b;
}

// T is double, or int64_t or uint64_t for integers, whose sums and products wrap.
template <class T>
void reduce(std::span<T> values, std::span<const int64_t> positions, std::span<const T> updates,
            const std::string& reduction) {
  using Wrapping = std::conditional_t<std::is_integral_v<T>, uint64_t, T>;
  for (size_t i = 0; i < positions.size(); ++i) {
    T& value = values[static_cast<size_t>(positions[i])];
    const auto a = static_cast<Wrapping>(value), b = static_cast<Wrapping>(updates[i]);
    if (reduction == "add") value = static_cast<T>(a + b);
    else if (reduction == "mul") value = static_cast<T>(a * b);
    else value = reduction == "min" ? less_of(value, updates[i]) : more_of(value, updates[i]);
  }
}

template <class T>
Tensor reduced_in(DType dtype, const Tensor& data, std::span<const int64_t> positions, const Tensor& updates,
                  const std::string& reduction) {
  Tensor values = data.converted(dtype);
  reduce<T>(values.mutable_as<T>(), positions, updates.converted(dtype).as<T>(), reduction);
  return values.converted(data.dtype());
}

}  // namespace

void expect_scatter(const TensorType& data, const TensorType& updates, const Attributes& attributes) {
  if (updates.dtype != data.dtype)
    fail("the updates are {} but the data {}; element types must be equal", to_string(updates), to_string(data));
  const std::string reduction = reduction_of(attributes);
  for (const char* known : {"none", "add", "mul", "min", "max"}) {
    if (reduction != known) continue;
    if (reduction != "none" && data.dtype == DType::string) fail("strings have no reduction {}; accepted: none", known);
    return;
  }
  fail("reduction {} is unknown; accepted: none, add, mul, min, max", reduction);
}

Tensor scatter(const Tensor& data, std::span<const int64_t> positions, const Tensor& updates,
               const Attributes& attributes) {
  const std::string reduction = reduction_of(attributes);
  const Tensor into = plain(data), from = plain(updates);
  if (reduction == "none") return replaced(into, positions, from);
  if (is_float(into.dtype())) return reduced_in<double>(DType::f64, into, positions, from, reduction);
  if (into.dtype() == DType::u64) return reduced_in<uint64_t>(DType::u64, into, positions, from, reduction);
  return reduced_in<int64_t>(DType::i64, into, positions, from, reduction);
}

}  // namespace hone
