// Questions that shape rules share. Each throws Error saying what was found and what would be accepted; the op's name
// and the operand types are added by infer_results().
#pragma once

#include <cstdint>
#include <vector>

#include "base/checked.h"
#include "ir/op_def.h"

namespace hone {

std::vector<size_t> checked_axes(const std::vector<int64_t>& axes, size_t rank);  // in the given order, no axis twice

void expect_rank(const TensorType& type, size_t least, size_t most, const char* what);
void expect_float(const TensorType& type, const char* what);
void expect_index(const TensorType& type, const char* what);  // i64 or i32
void expect_not_string(const TensorType& type, const char* what);
void expect_string(const TensorType& type, const char* what);
void expect_dim(const Dim& found, const Dim& wanted,
                const char* what);                        // what: "the last dimension of w, one per column of x"
void expect_sizes(const Shape& sizes, const char* what);  // no constant below 0
void expect_positive(int64_t value, const char* what);

// The element type of a sum of products: f64 for f64, otherwise f32 (f32, f16, bf16 and packed operands).
DType sum_dtype(const InferArgs& a, size_t first, size_t second);
// The same where two integers of 8 bits may be multiplied, too: their sums are i32, which wraps. Error for other types.
DType products_dtype(const InferArgs& a, const char* x = "x", const char* w = "w");
void expect_added(const TensorType& type, DType sums, const char* what);  // i32 to such sums, floats to others

// Integers that shape a result are given by an attribute of kind `shape`, where they are known (maybe as symbols), or
// by a trailing operand. To a shape rule: the attribute, else the values of the operand where it is constant, else
// nothing (then the sizes that depend on it are Dim::unknown()). To an evaluation: the values.
std::optional<Shape> dims_argument(const InferArgs& a, size_t operand, const char* attribute);
std::vector<int64_t> integers_argument(const EvalArgs& a, size_t operand, const char* attribute);
// The same for a single value, which is at least `least`; Dim::unknown() where it depends on data.
Dim dim_argument(const InferArgs& a, size_t operand, const char* attribute, int64_t least = 1);

// The same for a list of axes, whose attribute `axes` holds plain integers.
std::optional<std::vector<int64_t>> axes_argument(const InferArgs& a, size_t operand);
std::vector<int64_t> axes_argument(const EvalArgs& a, size_t operand);

// How many values a vector holds, where its type says so; Error when the type is not that of a vector.
std::optional<size_t> vector_length(const TensorType& type, const char* what);

TensorType plain_type(DType dtype, Shape shape);
// Of unknown sizes; without a rank, of any. Error for more dimensions than a tensor may have.
TensorType type_of_rank(DType dtype, std::optional<size_t> rank);

// An input of a body against what it is given: Error unless one value can be of both types.
void expect_body_input(const Graph& body, size_t input, const TensorType& given);

// Value of the attribute or, where it is absent, of `fallback`: lists of `count` integers, each at least `least`.
std::vector<int64_t> integers_or(const Attributes& attributes, const char* name, std::vector<int64_t> fallback,
                                 size_t count, int64_t least);

}  // namespace hone
