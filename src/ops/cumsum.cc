// cumsum, cumprod: running sums and products along an axis, which is an attribute, or an operand where it is computed.
#include "ops/elements.h"
#include "ops/rules.h"

namespace hone {
namespace {

constexpr AttributeSpec kAttributes[] = {
    {"axis", AttributeKind::integer, false, "of the runs; default: that of the operand axis, else -1"},
    {"exclusive", AttributeKind::integer, false, "1: without the element itself; default 0"},
    {"reverse", AttributeKind::integer, false, "1: from the end; default 0"},
};

std::vector<TensorType> infer_running(const InferArgs& a) {
  if (a[0].dtype == DType::boolean || a[0].dtype == DType::string)
    fail("x is {}; accepted: floats and integers. Insert a cast", to_string(a[0]));
  if (!a.has(1)) checked_axis(a.attributes.get_or<int64_t>("axis", -1), a[0].rank());
  else if (a.attributes.has("axis")) fail("axis is given twice, as operand and as attribute; accepted: one of them");
  else expect_index(a[1], "axis");
  return {plain_type(a[0].dtype, a[0].shape)};
}

int64_t axis_of(const EvalArgs& a) {
  if (!a.has(1)) return a.attributes.get_or<int64_t>("axis", -1);
  if (a[1].elements() != 1) fail("axis has {} elements; accepted: 1", a[1].elements());
  return a[1].to_integers()[0];
}

enum class Running { sum, product };

template <Running kind>
std::vector<Tensor> eval_running(const EvalArgs& a) {
  const AxisView view = around_axis(a[0].shape(), checked_axis(axis_of(a), a[0].shape().size()));
  const bool exclusive = a.attributes.get_or<int64_t>("exclusive", 0) != 0,
             reverse = a.attributes.get_or<int64_t>("reverse", 0) != 0;
  return with_elements(a[0], [&]<class T>(std::vector<T> x) -> std::vector<Tensor> {
    for (int64_t o = 0; o < view.outer; ++o)
      for (int64_t j = 0; j < view.inner; ++j) {
        check_stop();
        T total = kind == Running::sum ? T{0} : T{1};
        for (int64_t step = 0; step < view.length; ++step) {
          const int64_t i = reverse ? view.length - 1 - step : step;
          T& element = x[static_cast<size_t>((o * view.length + i) * view.inner + j)];
          const T before = total;
          total = kind == Running::sum ? wrapping_sum(total, element) : wrapping_product(total, element);
          element = exclusive ? before : total;
        }
      }
    return {from_elements(a.results[0].dtype, sizes_of(a.results[0]), x)};
  });
}

}  // namespace

extern constinit const OpDef cumsum_def{
    .name = "cumsum",
    .doc =
        "Sums of the elements up to each one along an axis; integers wrap. Operands: x, and axis where it is computed.",
    .operands = {"x", computed("computed_axis")},
    .attributes = kAttributes,
    .infer = infer_running,
    .eval = eval_running<Running::sum>};
extern constinit const OpDef cumprod_def{
    .name = "cumprod",
    .doc =
        "Products of the elements up to each one along an axis; integers wrap. Operands: x, and axis where it is "
        "computed.",
    .operands = {"x", computed("computed_axis")},
    .attributes = kAttributes,
    .infer = infer_running,
    .eval = eval_running<Running::product>,
    .no_gradient = "no rule is written for running products; cumsum has one"};

}  // namespace hone
