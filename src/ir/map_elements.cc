// map_elements (pointwise.h): walks the broadcast shape in runs along its last axis, after merging axes that all
// operands walk alike, so that operands of one shape are a single run.
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

struct Walk {
  std::vector<int64_t> sizes;                 // outer to inner, at least one axis
  std::vector<std::vector<int64_t>> strides;  // of each operand
};

// Joins axis i with axis i + 1 wherever every operand steps over both as over one.
Walk merge_axes(Walk walk) {
  for (size_t i = walk.sizes.size() - 1; i-- > 0;) {
    bool joins = true;
    for (const auto& strides : walk.strides) joins = joins && strides[i] == strides[i + 1] * walk.sizes[i + 1];
    if (!joins) continue;
    walk.sizes[i] *= walk.sizes[i + 1];
    walk.sizes.erase(walk.sizes.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    for (auto& strides : walk.strides)  // the joined axis steps like its inner half
      strides.erase(strides.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return walk;
}

const std::byte* at(const ComputeColumn& column, int64_t element) {
  return static_cast<const std::byte*>(column.data()) + element * size_bytes(column.tensor().dtype());
}

}  // namespace

Tensor map_elements(const Program& program, std::span<const Tensor* const> operands, std::vector<int64_t> shape) {
  Tensor result(dtype_of(program.result_type(0)), shape);
  const int64_t count = result.elements();
  if (count == 0) return result;

  Walk walk{shape.empty() ? std::vector<int64_t>{1} : shape, {}};
  std::vector<ComputeColumn> columns;
  for (const Tensor* operand : operands) {
    columns.emplace_back(operand ? *operand : Tensor(DType::f32, {}));
    walk.strides.push_back(broadcast_strides(columns.back().tensor().shape(), walk.sizes));
  }
  walk = merge_axes(std::move(walk));

  const int64_t run = walk.sizes.back(), item = size_bytes(result.dtype());
  std::byte* out = result.mutable_data();
  std::vector<ConstColumn> args(columns.size());
  Interpreter interpreter(program);
  for (int64_t first = 0; first < count; first += run) {
    for (size_t i = 0; i < columns.size(); ++i) {
      int64_t offset = 0, rest = first / run;
      for (size_t axis = walk.sizes.size() - 1; axis-- > 0; rest /= walk.sizes[axis])
        offset += rest % walk.sizes[axis] * walk.strides[i][axis];
      args[i] = {at(columns[i], offset), walk.strides[i].back()};
    }
    const MutableColumn column{out + first * item};
    interpreter.run(args, first, run, {&column, 1});
  }
  return result;
}

}  // namespace hone
