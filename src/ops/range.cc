// range: numbers from a start to a limit, where a computed scalar decides how many; `iota` has a shape instead.
#include <algorithm>
#include <cmath>

#include "ops/elements.h"
#include "ops/rules.h"

namespace hone {
namespace {

Tensor scalar(const Tensor& tensor, const char* what) {
  if (tensor.elements() != 1) fail("{} is {}; accepted: one element", what, to_string(tensor.type()));
  return tensor;
}

// max(ceil((limit - start) / step), 0)
int64_t count_of(const Tensor& start, const Tensor& limit, const Tensor& step) {
  if (is_float(start.dtype())) {
    const double length = scalar(limit, "limit").to_doubles()[0] - scalar(start, "start").to_doubles()[0],
                 by = scalar(step, "step").to_doubles()[0];
    const double count = std::ceil(length / by);
    constexpr double kMost = 0x1p62;
    if (by == 0 || !(std::abs(count) < kMost)) fail("a range of length {} in steps of {} does not end", length, by);
    return static_cast<int64_t>(std::max(count, 0.0));
  }
  const Dim length = Dim(scalar(limit, "limit").to_integers()[0]) - scalar(start, "start").to_integers()[0],
            by = scalar(step, "step").to_integers()[0];
  if (by == Dim(0)) fail("the step of a range is 0; accepted: any other");
  return std::max<int64_t>((Dim(0) - floordiv(Dim(0) - length, by)).constant(), 0);
}

std::vector<TensorType> infer_range(const InferArgs& a) {
  if (a[0].dtype == DType::boolean || a[0].dtype == DType::string)
    fail("start is {}; accepted: floats and integers", to_string(a[0]));
  for (size_t i = 1; i < 3; ++i)
    if (a[i].dtype != a[0].dtype)
      fail("{} is {} but start is {}; element types must be equal", i == 1 ? "limit" : "step", to_string(a[i]),
           to_string(a[0]));
  const bool known = a.constants[0] && a.constants[1] && a.constants[2];
  return {plain_type(a[0].dtype,
                     {known ? Dim(count_of(*a.constants[0], *a.constants[1], *a.constants[2])) : Dim::unknown()})};
}

std::vector<Tensor> eval_range(const EvalArgs& a) {
  const std::vector<int64_t> sizes = sizes_of(a.results[0]);
  const auto values = [&](auto start, auto step) {
    std::vector<decltype(start)> all;
    for (int64_t i = 0; i < sizes[0]; ++i) all.push_back(start + static_cast<decltype(start)>(i) * step);
    return all;
  };
  const DType dtype = a.results[0].dtype;
  if (is_float(dtype)) return {Tensor::from_doubles(dtype, sizes, values(a[0].to_doubles()[0], a[2].to_doubles()[0]))};
  return {Tensor::of<int64_t>(sizes, values(a[0].to_integers()[0], a[2].to_integers()[0])).converted(dtype)};
}

}  // namespace

extern constinit const OpDef range_def{.name = "range",
                                       .doc =
                                           "start, start + step, … up to but without limit; the operands start, limit "
                                           "and step are scalars of one element type.",
                                       .operands = {"start", "limit", "step"},
                                       .infer = infer_range,
                                       .eval = eval_range,
                                       .no_gradient = "its operands say how many elements there are"};

}  // namespace hone
