// What planner, prepack and code generator agree on for a convolution by Winograd's algorithm (winograd.h).
//
// The result is cut into pieces of m x m. An item is a block of pieces (of any images, one behind the other) and one
// panel of outputs: x under the pieces is transformed into scratch, [product, piece, channel]; each product is
// multiplied by its own panel of transformed weights, [product, piece, output]; the results are transformed back and go
// through the epilogue. Weights lie [panel, product].
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "device/x86/conv/plan.h"
#include "device/x86/conv/winograd.h"
#include "device/x86/gemm/shape.h"

namespace hone {

// With what launch() derives from the sizes of a plane.
struct WinogradArgs : ConvArgs {
  int64_t pieces = 0, pieces_across = 0, block_pieces = 0;
  static constexpr auto places() {
    using A = WinogradArgs;
    return std::tuple_cat(ConvArgs::places(),
                          std::tuple(SizesFrom{32}, &A::pieces, &A::pieces_across, &A::block_pieces));
  }
};

// Of a plan for any plane, pieces are 0 and blocks as large as any.
struct WinogradShape {
  const Winograd* w = nullptr;
  GemmShape gemm;                        // one product: [block_pieces, channels] x [outputs, channels]
  int64_t pieces_y = 0, pieces_x = 0;    // per plane
  int64_t block_pieces = 0;              // a multiple of gemm.rows
  int64_t data_row = 0, data_plane = 0;  // bytes: transformed x of one piece, of all pieces of one product
  int64_t sums_row = 0, sums_plane = 0;  // likewise, results before they are transformed back
  int64_t patch_bytes = 0, result_bytes = 0;
  int64_t pieces() const { return pieces_y * pieces_x; }
  int64_t scratch_bytes() const { return w->products() * (data_plane + sums_plane) + patch_bytes + result_bytes; }
};

WinogradShape winograd_shape(const X86ConvPlan& plan, const X86Target& target, int shrink = 0);
void write_derived(const WinogradShape& shape, KernelArgs& args);
X86GemmPlan winograd_product(const X86ConvPlan& plan);  // one of the matrix products, by vectors
Support winograd_support(const X86ConvPlan& plan);
struct MethodChoice {
  X86ConvPlan::Method method = X86ConvPlan::Method::direct;
  std::vector<std::string> refused;  // the others, each with the reason against it
};
// The method that is expected to be fastest for that many images, by a fixed rule; `exact`: the sum as it is written;
// `once`: weights are laid out once, not in each run.
MethodChoice choose_method(const X86ConvPlan& plan, const X86Target& target, int64_t images, bool no_winograd = false,
                           bool once = true);
std::string_view to_string(X86ConvPlan::Method method);

}  // namespace hone
