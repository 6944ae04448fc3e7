// gather_elements and scatter_elements: one index per element, along one axis.
#include "ops/elements.h"
#include "ops/rules.h"
#include "ops/scatter.h"

namespace hone {
namespace {

constexpr AttributeSpec kAxis = {"axis", AttributeKind::integer, false, "the axis that is indexed; default 0"};
constexpr AttributeSpec kGatherAttributes[] = {kAxis};
constexpr AttributeSpec kScatterAttributes[] = {kAxis, kReduction};

void expect_indices(const InferArgs& a) {
  expect_index(a[1], "the indices");
  expect_rank(a[0], 1, SIZE_MAX, "the data");
  expect_rank(a[1], a[0].rank(), a[0].rank(), "the indices");
  const size_t axis = checked_axis(a.attributes.get_or<int64_t>("axis", 0), a[0].rank());
  for (size_t i = 0; i < a[0].rank(); ++i) {
    const Dim room = a[0].shape[i] - a[1].shape[i];
    if (i != axis && room.is_constant() && room.constant() < 0)
      fail("the indices have {} positions along axis {}, where the data has {}", a[1].shape[i].to_string(), i,
           a[0].shape[i].to_string());
  }
}

std::vector<TensorType> infer_gather_elements(const InferArgs& a) {
  expect_indices(a);
  return {plain_type(a[0].dtype, a[1].shape)};
}

std::vector<TensorType> infer_scatter_elements(const InferArgs& a) {
  expect_indices(a);
  expect_scatter(a[0], a[2], a.attributes);
  expect_rank(a[2], a[1].rank(), a[1].rank(), "the updates");
  for (size_t i = 0; i < a[1].rank(); ++i)
    expect_dim(a[2].shape[i], a[1].shape[i], "a dimension of the updates, which have one element per index,");
  return {plain_type(a[0].dtype, a[0].shape)};
}

// For each index the position in the data that it means.
std::vector<int64_t> positions(const EvalArgs& a) {
  const std::vector<int64_t>& sizes = a[0].shape();
  const size_t axis = checked_axis(a.attributes.get_or<int64_t>("axis", 0), sizes.size());
  const std::vector<int64_t> indices = a[1].to_integers(), own = strides_of(sizes);
  std::vector<int64_t> around = own, result;
  around[axis] = 0;
  for_each_offset(a[1].shape(), around, [&](int64_t at) {
    result.push_back(at + checked_index(indices[result.size()], sizes[axis]) * own[axis]);
  });
  return result;
}

}  // namespace

extern constinit const OpDef gather_elements_def{
    .name = "gather_elements",
    .doc =
        "For every index the element of the data at the same position, but for the axis, where the index counts; "
        "negative ones from the end.",
    .operands = {"x", "indices"},
    .attributes = kGatherAttributes,
    .infer = infer_gather_elements,
    .eval = [](const EvalArgs& a) {
      return std::vector<Tensor>{take(plain(a[0]), sizes_of(a.results[0]), positions(a))};
    }};
extern constinit const OpDef scatter_elements_def{
    .name = "scatter_elements",
    .doc = "The data with an update (third operand) for every index (second) put where gather_elements would read.",
    .operands = {"x", "indices", "updates"},
    .attributes = kScatterAttributes,
    .infer = infer_scatter_elements,
    .eval = [](const EvalArgs& a) { return std::vector<Tensor>{scatter(a[0], positions(a), a[2], a.attributes)}; }};

}  // namespace hone
