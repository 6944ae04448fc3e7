// map_elements (pointwise.h): walks the broadcast shape in runs along its last axis, after merging axes that all
// operands loops alike, so that operands of one shape are a single run.
#include "base/error.h"
#include "expr/interpreter.h"
#include "ir/compute_column.h"
#include "ir/pointwise.h"

namespace hone {
namespace {

// Element strides of `shape` broadcast to `rank` axes of `sizes`; 0 along axes where it repeats.
std::vector<int64_t> broadcast_strides(const std::vector<int64_t>& shape, const std::vector<int64_t>& sizes) {
  CHECK(shape.size() <= sizes.size());
  std::vector<int64_t> strides(sizes.size(), 0);
  int64_t stride = 1;
  for (size_t i = 0; i < shape.size(); ++i) {
    const size_t from = shape.size() - 1 - i, to = sizes.size() - 1 - i;
    if (shape[from] != 1) {
      CHECK(shape[from] == sizes[to], "operand {} does not broadcast to {}", to_string(to_shape(shape)),
            to_string(to_shape(sizes)));
      strides[to] = stride;
    }
    stride *= shape[from];
  }
  return strides;
}

struct StridedLoops {
  std::vector<int64_t> sizes;                 // outer to inner, at least one axis
  std::vector<std::vector<int64_t>> strides;  // of each operand
};

// Joins axis i with axis i + 1 wherever every operand steps over both as over one.
StridedLoops merge_axes(StridedLoops loops) {
  for (size_t i = loops.sizes.size() - 1; i-- > 0;) {
    bool joins = true;
    for (const auto& strides : loops.strides) joins = joins && strides[i] == strides[i + 1] * loops.sizes[i + 1];
    if (!joins) continue;
    loops.sizes[i] *= loops.sizes[i + 1];
    loops.sizes.erase(loops.sizes.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    for (auto& strides : loops.strides)  // the joined axis steps like its inner half
      strides.erase(strides.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return loops;
}

const std::byte* at(const ComputeColumn& column, int64_t element) {
  return static_cast<const std::byte*>(column.data()) + element * size_bytes(column.tensor().dtype());
}

}  // namespace

Tensor map_elements(const Program& program, std::span<const Tensor* const> operands, std::vector<int64_t> shape) {
  Tensor result(dtype_of(program.result_type(0)), shape);
  const int64_t count = result.elements();
  if (count == 0) return result;

  StridedLoops loops{shape.empty() ? std::vector<int64_t>{1} : shape, {}};
  std::vector<ComputeColumn> columns;
  for (const Tensor* operand : operands) {
    columns.emplace_back(operand ? *operand : Tensor(DType::f32, {}));
    loops.strides.push_back(broadcast_strides(columns.back().tensor().shape(), loops.sizes));
  }
  loops = merge_axes(std::move(loops));

  const int64_t run = loops.sizes.back(), item = size_bytes(result.dtype());
  std::byte* out = result.mutable_data();
  std::vector<ConstColumn> args(columns.size());
  Interpreter interpreter(program);
  for (int64_t first = 0; first < count; first += run) {
    for (size_t i = 0; i < columns.size(); ++i) {
      int64_t offset = 0, rest = first / run;
      for (size_t axis = loops.sizes.size() - 1; axis-- > 0; rest /= loops.sizes[axis])
        offset += rest % loops.sizes[axis] * loops.strides[i][axis];
      args[i] = {at(columns[i], offset), loops.strides[i].back()};
    }
    const MutableColumn column{out + first * item};
    interpreter.run(args, first, run, {&column, 1});
  }
  return result;
}

}  // namespace hone
