// cummax, cummin: the extremes of the elements up to each one along an axis.
#include <cmath>

#include "ops/elements.h"
#include "ops/rules.h"

namespace hone {
namespace {

constexpr AttributeSpec kAttributes[] = {
    {"axis", AttributeKind::integer, false, "of the runs; default -1"},
    {"reverse", AttributeKind::integer, false, "1: from the end; default 0"},
};

std::vector<TensorType> infer_extremes(const InferArgs& a) {
  if (a[0].dtype == DType::boolean || a[0].dtype == DType::string)
    fail("x is {}; accepted: floats and integers. Insert a cast", to_string(a[0]));
  checked_axis(a.attributes.get_or<int64_t>("axis", -1), a[0].rank());
  return {plain_type(a[0].dtype, a[0].shape)};
}

template <bool largest, class T>
bool replaces(T x, T extreme) {
  if constexpr (std::is_floating_point_v<T>)
    if (std::isnan(x) || std::isnan(extreme)) return !std::isnan(extreme);
  return largest ? x > extreme : x < extreme;
}

template <bool largest>
std::vector<Tensor> eval_extremes(const EvalArgs& a) {
  const Tensor plain_x = plain(a[0]);
  const std::vector<int64_t> sizes = sizes_of(a.results[0]);
  const AxisView view = around_axis(sizes, checked_axis(a.attributes.get_or<int64_t>("axis", -1), sizes.size()));
  const bool reverse = a.attributes.get_or<int64_t>("reverse", 0) != 0;
  return with_elements(plain_x, [&]<class T>(const std::vector<T>& x) -> std::vector<Tensor> {
    std::vector<int64_t> positions(x.size());
    for (int64_t o = 0; o < view.outer; ++o)
      for (int64_t j = 0; j < view.inner; ++j) {
        check_stop();
        int64_t extreme = -1;
        for (int64_t step = 0; step < view.length; ++step) {
          const int64_t i = reverse ? view.length - 1 - step : step;
          const int64_t here = (o * view.length + i) * view.inner + j;
          if (extreme < 0 || replaces<largest>(x[static_cast<size_t>(here)], x[static_cast<size_t>(extreme)]))
            extreme = here;
          positions[static_cast<size_t>(here)] = extreme;
        }
      }
    return {take(plain_x, sizes, positions)};
  });
}

}  // namespace

extern constinit const OpDef cummax_def{
    .name = "cummax",
    .doc =
        "The largest of the elements up to each one along an axis: the first of equal ones; from a NaN on, that NaN.",
    .attributes = kAttributes,
    .infer = infer_extremes,
    .eval = eval_extremes<true>};
extern constinit const OpDef cummin_def{
    .name = "cummin",
    .doc =
        "The smallest of the elements up to each one along an axis: the first of equal ones; from a NaN on, that NaN.",
    .attributes = kAttributes,
    .infer = infer_extremes,
    .eval = eval_extremes<false>};

}  // namespace hone
