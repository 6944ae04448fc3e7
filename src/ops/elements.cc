#include "ops/elements.h"

#include <cstring>

#include "base/checked.h"
#include "base/memory_limit.h"
#include "ir/lying_bytes.h"

namespace hone {

Tensor plain(const Tensor& tensor) { return tensor.is_packed() ? unpack(tensor) : tensor; }

std::vector<int64_t> sizes_of(const TensorType& type) { return constant_shape(type.shape); }

std::vector<int64_t> strides_of(std::span<const int64_t> sizes) {
  std::vector<int64_t> strides(sizes.size(), 1);
  for (size_t i = sizes.size(); i-- > 1;) strides[i - 1] = strides[i] * sizes[i];
  return strides;
}

std::vector<int64_t> strides_broadcast(std::span<const int64_t> from, std::span<const int64_t> to) {
  CHECK(from.size() <= to.size());
  const std::vector<int64_t> own = strides_of(from);
  std::vector<int64_t> strides(to.size(), 0);
  const size_t lead = to.size() - from.size();
  for (size_t i = 0; i < from.size(); ++i) strides[lead + i] = from[i] == 1 ? 0 : own[i];
  return strides;
}

double dot(const double* a, const double* b, int64_t n) {
  check_stop();
  double sums[4] = {};
  int64_t i = 0;
  for (; i + 4 <= n; i += 4)
    for (int j = 0; j < 4; ++j) sums[j] += a[i + j] * b[i + j];
  for (; i < n; ++i) sums[0] += a[i] * b[i];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

int64_t dot(const int64_t* a, const int64_t* b, int64_t n) {
  check_stop();
  int64_t sum = 0;
  for (int64_t i = 0; i < n; ++i) sum = wrapping_sum(sum, wrapping_product(a[i], b[i]));
  return sum;
}

AxisView around_axis(std::span<const int64_t> sizes, size_t axis) {
  AxisView view;
  for (size_t i = 0; i < sizes.size(); ++i) (i < axis ? view.outer : i == axis ? view.length : view.inner) *= sizes[i];
  return view;
}

void TextBytes::add(size_t bytes) {
  constexpr int64_t kStep = 1 << 20;
  bytes_ = checked_add(bytes_, static_cast<int64_t>(bytes));
  if (bytes_ < asked_) return;
  check_stop();
  require_memory(bytes_, "the strings of a result");
  asked_ = bytes_ + kStep;
}

ElementWriter::ElementWriter(DType dtype, std::vector<int64_t> shape) : result_(dtype, std::move(shape)) {
  if (dtype == DType::string) strings_.reserve(static_cast<size_t>(result_.elements()));
  else room_ = {result_.mutable_data(), static_cast<size_t>(result_.bytes())};
}

void ElementWriter::append(const Tensor& from, int64_t first, int64_t count) {
  check_stop();
  CHECK(from.dtype() == result_.dtype() && first >= 0 && count >= 0);
  const auto begin = static_cast<size_t>(first), length = static_cast<size_t>(count);
  if (result_.dtype() == DType::string) {
    const std::vector<std::string>& values = from.string_values();
    CHECK(begin + length <= values.size());
    const auto run = std::span(values).subspan(begin, length);
    for (const std::string& text : run) text_bytes_.add(text.size());
    strings_.insert(strings_.end(), run.begin(), run.end());
    return;
  }
  const auto item = static_cast<size_t>(size_bytes(result_.dtype()));
  const std::span<const std::byte> bytes = from.data().bytes();
  CHECK((begin + length) * item <= bytes.size() && length * item <= room_.size());
  if (length > 0) std::memcpy(room_.data(), bytes.data() + begin * item, length * item);
  room_ = room_.subspan(length * item);
}

Tensor ElementWriter::finish() {
  CHECK(room_.empty(), "{} bytes are missing", room_.size());
  if (result_.dtype() == DType::string) return Tensor::strings(result_.shape(), std::move(strings_));
  return std::move(result_);
}

// An innermost axis whose elements lie side by side is copied in one piece.
Tensor copy_strided(const Tensor& src, std::vector<int64_t> sizes, std::span<const int64_t> strides, int64_t offset) {
  const std::vector<int64_t> shape = sizes;
  int64_t run = 1;
  if (!sizes.empty() && strides.back() == 1) {
    run = sizes.back();
    sizes.pop_back();
    strides = strides.first(sizes.size());
  }
  if (src.dtype() == DType::string) {
    ElementWriter out(src.dtype(), shape);
    if (run > 0) for_each_offset(sizes, strides, [&](int64_t at) { out.append(src, offset + at, run); });
    return out.finish();
  }
  Tensor out(src.dtype(), shape);
  const std::span<const std::byte> from = lying_bytes(src.data());
  const int64_t item = size_bytes(src.dtype());
  std::byte* to = out.bytes() > 0 ? out.mutable_data() : nullptr;
  if (run > 0)
    for_each_offset(sizes, strides, [&](int64_t at) {
      CHECK(offset + at >= 0 && (offset + at + run) * item <= std::ssize(from));
      std::memcpy(to, from.data() + (offset + at) * item, static_cast<size_t>(run * item));
      to += run * item;
    });
  return out;
}

Tensor take(const Tensor& src, std::vector<int64_t> shape, std::span<const int64_t> positions) {
  ElementWriter out(src.dtype(), std::move(shape));
  for (int64_t position : positions) out.append(src, position);
  return out.finish();
}

int64_t checked_index(int64_t index, int64_t length) {
  if (index < -length || index >= length)
    fail("index {} is out of range for an axis of {} elements; accepted: {} to {}", index, length, -length, length - 1);
  return index < 0 ? index + length : index;
}

}  // namespace hone
