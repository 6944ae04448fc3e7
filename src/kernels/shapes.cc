#include "kernels/shapes.h"
#include "kernels/elements.h"

#include <algorithm>
#include <numeric>

namespace hone {
namespace {

Shape without_leading_ones(const Shape& shape) {
  auto first = std::ranges::find_if(shape, [](const Dim& d) { return !(d == Dim(1)); });
  return {first, shape.end()};
}

Dim product(Shape::const_iterator begin, Shape::const_iterator end) {
  return std::accumulate(begin, end, Dim(1), std::multiplies<>());
}

}  // namespace

bool is_compilable(const Graph& graph, const Node& node) {
  auto fits = [&](ValueId v) { return v == kNone || (!graph.type(v).is_packed() && is_loadable(graph.type(v).dtype)); };
  return std::all_of(node.operands.begin(), node.operands.end(), fits) &&
         std::all_of(node.results.begin(), node.results.end(), fits);
}

std::optional<Epilogue::Access> gemm_access(const Shape& operand, const Shape& result) {
  using Access = Epilogue::Access;
  const Shape own = without_leading_ones(operand), all = without_leading_ones(result);
  const Dim n = result.empty() ? 1 : result.back();
  if (own.empty()) return Access::scalar;
  if (own == all) return Access::full;
  if (own.size() == 1 && own[0] == n) return Access::column;
  if (operand.size() == result.size() && operand.back() == Dim(1) &&
      std::equal(operand.begin(), operand.end() - 1, result.begin()))
    return Access::row;
  return std::nullopt;
}

std::optional<RowAccess> row_access(const Shape& operand, const Shape& result) {
  if (result.empty()) return std::nullopt;
  const Dim one = 1, n = result.back(), rows = product(result.begin(), result.end() - 1);
  if (product(operand.begin(), operand.end()) == one && !(n == one)) return RowAccess{.row_scalar = true};
  const Dim last = operand.empty() ? one : operand.back();
  if (!(last == n) && !(last == one)) return std::nullopt;
  const bool row_scalar = last == one && !(n == one);
  const Shape leading = without_leading_ones({operand.begin(), operand.empty() ? operand.end() : operand.end() - 1});
  const Shape all(result.begin(), result.end() - 1);
  if (leading.size() > all.size() || !std::equal(leading.rbegin(), leading.rend(), all.rbegin())) return std::nullopt;
  const Dim own_rows = product(leading.begin(), leading.end());
  if (own_rows == one) return RowAccess{.row_scalar = row_scalar};
  return RowAccess{.row_scalar = row_scalar, .row_stride = last, .period = own_rows == rows ? Dim(0) : own_rows};
}

std::optional<AxisRun> reduced_run(const Node& node, const Shape& shape) {
  for (size_t i = 0; i < node.operands.size(); ++i)
    if (node.operands[i] != kNone && node.op->operands.of(i).argument) return std::nullopt;
  std::vector<bool> reduced(shape.size(), false);
  const auto mark = [&](int64_t axis) {
    reduced[static_cast<size_t>(axis < 0 ? axis + std::ssize(shape) : axis)] = true;
  };
  const bool is_reduce = std::string_view(node.op->name).starts_with("reduce_");
  if (!is_reduce) mark(node.attributes.get_or<int64_t>("axis", -1));
  else if (!node.attributes.has("axes")) reduced.assign(shape.size(), true);
  else
    for (int64_t axis : node.attributes.get<std::vector<int64_t>>("axes")) mark(axis);
  AxisRun run;
  bool met = false, left = false;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == Dim(1)) continue;
    if (reduced[i] && left) return std::nullopt;
    left |= met && !reduced[i];
    met |= reduced[i];
    Dim& part = reduced[i] ? run.length : left ? run.inner : run.outer;
    part = part * shape[i];
  }
  return run;
}

Shape dense_strides(const Shape& shape) {
  Shape strides(shape.size());
  Dim stride = 1;
  for (size_t i = shape.size(); i-- > 0; stride = stride * shape[i]) strides[i] = stride;
  return strides;
}

std::optional<Shape> broadcast_strides(const Shape& operand, const Shape& own, const Shape& result) {
  Shape strides(result.size(), 0);
  const size_t offset = result.size() - operand.size();
  for (size_t i = 0; i < operand.size(); ++i) {
    if (operand[i] == Dim(1)) continue;
    if (!(operand[i] == result[offset + i])) return std::nullopt;
    strides[offset + i] = own[i];
  }
  return strides;
}

CollapsedLoops collapse(const Shape& result, const std::vector<Shape>& operand_strides) {
  CollapsedLoops loops;
  loops.strides.resize(operand_strides.size());
  for (size_t d = 0; d < result.size(); ++d) {
    if (result[d] == Dim(1)) continue;
    bool merges = !loops.extents.empty();
    for (size_t o = 0; merges && o < operand_strides.size(); ++o)
      merges = loops.strides[o].back() == operand_strides[o][d] * result[d];
    if (merges) loops.extents.back() = loops.extents.back() * result[d];
    else loops.extents.push_back(result[d]);
    for (size_t o = 0; o < operand_strides.size(); ++o) {
      if (merges) loops.strides[o].back() = operand_strides[o][d];
      else loops.strides[o].push_back(operand_strides[o][d]);
    }
  }
  if (loops.extents.empty()) {
    loops.extents = {1};
    for (Shape& strides : loops.strides) strides = {0};
  }
  return loops;
}

}  // namespace hone
