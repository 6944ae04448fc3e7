// Elements or slices at places that indices say: gathers and scatters.
#pragma once

#include <array>
#include <cstdint>

#include "device/args.h"
#include "kernels/kernel.h"

namespace hone {

// Gather: out[i] = data[place(i)]. Scatter: out = data, then out[place(i)] = updates[i] in the order of i, or what
// `joins` makes of both. A place is where a tuple of indices leads, one for each of the first axes, or the place of the
// index itself but for the axis that it counts along. Negative indices count from the end; the caller has checked that
// all are in range.
// Items are the tuples, or the indices along the first axis; scatter: one.
struct IndexedPlan {
  enum class Joins : uint8_t { replace, add, mul, min, max };
  bool scatters = false;
  bool tuples = true;       // else one index for each element, along an axis
  int64_t rank = 1;         // of a tuple, or of the indices
  int64_t slice_bytes = 0;  // 0: as arguments say
  DType indices = DType::i64;
  Joins joins = Joins::replace;
  DType dtype = DType::f32;  // of elements that are joined
  static constexpr auto fields() {
    using P = IndexedPlan;
    return std::tuple(field("scatters", &P::scatters), field("tuples", &P::tuples), field("rank", &P::rank),
                      field("slice_bytes", &P::slice_bytes), field("indices", &P::indices), field("joins", &P::joins),
                      field("dtype", &P::dtype));
  }
  static const KernelDef& kernel();
};

struct IndexedArgs {
  void *data = nullptr, *indices = nullptr, *updates = nullptr, *out = nullptr;  // updates or null
  int64_t tuples = 0;                                                            // or indices along the first axis
  int64_t slice_bytes = 0, data_bytes = 0, index_count = 0;
  // Tuples: for each of `rank` axes its size, then for each the bytes from one to the next. Along an axis: for each of
  // `rank` axes how many indices, then for each the bytes from one to the next (0 for that axis), then its size and its
  // bytes.
  std::array<int64_t, 44> axes{};
  static constexpr auto places() {
    using A = IndexedArgs;
    return std::tuple(&A::data, &A::indices, &A::updates, &A::out, &A::tuples, &A::slice_bytes, &A::data_bytes,
                      &A::index_count, &A::axes);
  }
};

Support lower_indexed(const Lowering& lowering, Prepared& prepared);

}  // namespace hone
