#include "codegen/shapes.h"
#include "codegen/elements.h"

#include <algorithm>
#include <numeric>

namespace hone {
namespace {

std::vector<int64_t> without_leading_ones(const std::vector<int64_t>& shape) {
  auto first = std::find_if(shape.begin(), shape.end(), [](int64_t d) { return d != 1; });
  return {first, shape.end()};
}

int64_t product(std::vector<int64_t>::const_iterator begin, std::vector<int64_t>::const_iterator end) {
  return std::accumulate(begin, end, int64_t{1}, std::multiplies<>());
}

}  // namespace

bool is_compilable(const Graph& graph, const Node& node) {
  auto fits = [&](ValueId v) { return v == kNone || (!graph.type(v).is_packed() && is_loadable(graph.type(v).dtype)); };
  return std::all_of(node.operands.begin(), node.operands.end(), fits) &&
         std::all_of(node.results.begin(), node.results.end(), fits);
}

std::optional<Epilogue::Access> gemm_access(const std::vector<int64_t>& operand, const std::vector<int64_t>& result) {
  using Access = Epilogue::Access;
  const std::vector<int64_t> own = without_leading_ones(operand), all = without_leading_ones(result);
  const int64_t n = result.empty() ? 1 : result.back();
  if (product(operand.begin(), operand.end()) == 1) return Access::scalar;
  if (own == all) return Access::full;
  if (own.size() == 1 && own[0] == n) return Access::column;
  if (operand.size() == result.size() && operand.back() == 1 &&
      std::equal(operand.begin(), operand.end() - 1, result.begin()))
    return Access::row;
  return std::nullopt;
}

std::optional<RowAccess> row_access(const std::vector<int64_t>& operand, const std::vector<int64_t>& result) {
  if (result.empty()) return std::nullopt;
  const int64_t n = result.back(), rows = product(result.begin(), result.end() - 1);
  const int64_t elements = product(operand.begin(), operand.end());
  if (elements == 1 && n != 1) return RowAccess{.row_scalar = true};
  const int64_t last = operand.empty() ? 1 : operand.back();
  if (last != n && last != 1) return std::nullopt;
  const bool row_scalar = last == 1 && n != 1;
  std::vector<int64_t> leading(operand.begin(), operand.empty() ? operand.end() : operand.end() - 1);
  leading = without_leading_ones(leading);
  const std::vector<int64_t> all(result.begin(), result.end() - 1);
  if (leading.size() > all.size() || !std::equal(leading.rbegin(), leading.rend(), all.rbegin())) return std::nullopt;
  const int64_t own_rows = product(leading.begin(), leading.end());
  if (own_rows == 1) return RowAccess{.row_scalar = row_scalar};
  return RowAccess{.row_scalar = row_scalar, .row_stride = last, .period = own_rows == rows ? 0 : own_rows};
}

std::optional<AxisRun> reduced_run(const Node& node, const std::vector<int64_t>& shape) {
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
    if (shape[i] == 1) continue;
    if (reduced[i] && left) return std::nullopt;
    left |= met && !reduced[i];
    met |= reduced[i];
    (reduced[i] ? run.length : left ? run.inner : run.outer) *= shape[i];
  }
  return run;
}

std::vector<int64_t> dense_strides(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0; stride *= shape[i]) strides[i] = stride;
  return strides;
}

std::vector<int64_t> broadcast_strides(const std::vector<int64_t>& operand, const std::vector<int64_t>& result) {
  std::vector<int64_t> strides(result.size(), 0);
  const std::vector<int64_t> own = dense_strides(operand);
  const size_t offset = result.size() - operand.size();
  for (size_t i = 0; i < operand.size(); ++i) strides[offset + i] = operand[i] == 1 ? 0 : own[i];
  return strides;
}

CollapsedLoops collapse(const std::vector<int64_t>& result, const std::vector<std::vector<int64_t>>& operand_strides) {
  CollapsedLoops loops;
  loops.strides.resize(operand_strides.size());
  for (size_t d = 0; d < result.size(); ++d) {
    if (result[d] == 1) continue;
    bool merges = !loops.extents.empty();
    for (size_t o = 0; merges && o < operand_strides.size(); ++o)
      merges = loops.strides[o].back() == operand_strides[o][d] * result[d];
    if (merges) loops.extents.back() *= result[d];
    else loops.extents.push_back(result[d]);
    for (size_t o = 0; o < operand_strides.size(); ++o) {
      if (merges) loops.strides[o].back() = operand_strides[o][d];
      else loops.strides[o].push_back(operand_strides[o][d]);
    }
  }
  if (loops.extents.empty()) {
    loops.extents = {1};
    for (auto& strides : loops.strides) strides = {0};
  }
  return loops;
}

}  // namespace hone
