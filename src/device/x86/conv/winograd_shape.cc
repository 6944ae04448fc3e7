#include "device/x86/conv/winograd_shape.h"

#include <algorithm>

#include "base/multiples.h"
#include "device/x86/conv/shape.h"

namespace hone {
namespace {

// Transformed x and results of a block beside a panel of weights: what a second-level cache of 1 MiB holds.
constexpr int64_t kBlockBytes = 640 << 10;
// Fewer pieces would stream the transformed weights, four times the plain ones, for too little arithmetic.
constexpr int64_t kFewestPieces = 16;

int64_t piece_of(X86ConvPlan::Method method) { return method == X86ConvPlan::Method::winograd2 ? 2 : 4; }

// Products in a cycle: one vector, times the rate of the unit that is used.
double products_per_cycle(const GemmShape& shape, const X86Target& target) {
  const DotUnit* unit =
      shape.tiles() ? target.tile_unit(DType::bf16) : target.vector_unit(shape.pairs() ? DType::bf16 : DType::f32);
  return shape.lanes * unit->rate;
}

double direct_cycles(const X86ConvPlan& plan, const X86Target& target, int64_t images) {
  const PlaneWindow& w = plan.window;
  const X86GemmPlan product = laid_out_product(plan, target);
  const GemmShape shape = panel_shape(product, target);
  const int64_t columns = round_up(plan.product.n, shape.lanes);
  return static_cast<double>(images * w.out_height * w.out_width * product.k * columns) /
         products_per_cycle(shape, target);
}

// Weights that each run lays out are transformed in the run, and written: cycles for each product (20 ns for the 36 of
// a weight of each tap).
constexpr double kCyclesOfWeight = 2;

double winograd_cycles(const X86ConvPlan& plan, const X86Target& target, int64_t images, bool once) {
  const WinogradShape s = winograd_shape(plan, target);
  const int64_t blocks = ceil_div(images * s.pieces(), s.block_pieces), lanes = s.gemm.lanes;
  const int64_t rows = images * s.pieces(), columns = s.gemm.panels() * s.gemm.panel_columns();
  const double multiply =
      static_cast<double>(s.w->products() * rows * plan.channels * columns) / products_per_cycle(s.gemm, target);
  // A transform takes about six cycles for each element of a piece and vector of channels: loads, stores, arithmetic.
  const double vectors = static_cast<double>(ceil_div(plan.channels, lanes) + columns / lanes);
  const double transform = 6.0 * static_cast<double>(s.w->products() * rows) * vectors;
  // Weights stream from memory once per block, at eight bytes a cycle; what multiplying takes longer hides it.
  const double weights = static_cast<double>(blocks * s.w->products() * s.gemm.panels() * s.gemm.panel_bytes()) / 8;
  const double laid_out =
      once ? 0 : kCyclesOfWeight * static_cast<double>(s.w->products() * plan.channels * plan.product.n);
  return std::max(multiply, weights) + transform + laid_out;
}

// Blocks are the same whatever the tile. One plane alone may have fewer pieces than a block of several planes.
int64_t pieces_of_block(int64_t pieces, int64_t room) {
  const int64_t blocks = ceil_div(pieces, room);
  return blocks > 1 ? ceil_div(pieces, blocks) : room / pieces * pieces;
}

}  // namespace

void write_derived(const WinogradShape& shape, KernelArgs& args) {
  auto derived = from_args<WinogradArgs>(args);
  derived.pieces = shape.pieces(), derived.pieces_across = shape.pieces_x, derived.block_pieces = shape.block_pieces;
  write_args(derived, args);
}

X86GemmPlan winograd_product(const X86ConvPlan& plan) {
  X86GemmPlan product{plan.product};
  product.k = plan.channels;
  return product;
}

WinogradShape winograd_shape(const X86ConvPlan& plan, const X86Target& target, int shrink) {
  WinogradShape s;
  s.w = &winograd(piece_of(plan.method));
  s.gemm = panel_shape(winograd_product(plan), target);
  s.gemm.rows = std::max(1, s.gemm.rows - shrink);
  const PlaneWindow& w = plan.window;
  s.pieces_y = ceil_div(w.out_height, s.w->piece), s.pieces_x = ceil_div(w.out_width, s.w->piece);
  s.data_row = round_up(plan.channels, s.gemm.lanes) * size_bytes(plan.product.a);
  s.sums_row = s.gemm.row_bytes();
  const int64_t room = std::max(kBlockBytes / (s.w->products() * (s.data_row + s.sums_row)), 2 * kFewestPieces);
  s.block_pieces = plan.any_plane ? room : pieces_of_block(s.pieces(), room);
  const int64_t stored = s.block_pieces | 1;  // odd, or planes of the same place fall on the same sets of a cache
  s.data_plane = stored * s.data_row, s.sums_plane = stored * s.sums_row;
  s.patch_bytes = s.w->products() * s.data_row;
  s.result_bytes = s.w->piece * s.w->piece * s.sums_row;
  return s;
}

Support winograd_support(const X86ConvPlan& plan) {
  const PlaneWindow& w = plan.window;
  if (w.kernel_height != 3 || w.kernel_width != 3 || w.stride_y != 1 || w.stride_x != 1 || w.dilation_y != 1 ||
      w.dilation_x != 1)
    return {"its window is not 3x3 of stride 1"};
  if (plan.groups > 1) return {"it has groups"};
  if (plan.product.a != plan.product.w) return {"x and weights of different element types"};
  if (plan.product.a == DType::bf16 && plan.method == X86ConvPlan::Method::winograd4)
    return {"pieces of 4x4 in bf16 would be off by five times as much as the plain sum"};
  if (!plan.product.w_format.empty()) return {"transformed weights would not be packed any more"};
  return {};
}

std::string_view to_string(X86ConvPlan::Method method) {
  constexpr std::string_view kNames[] = {"direct", "winograd2", "winograd4"};
  return kNames[static_cast<size_t>(method)];
}

MethodChoice choose_method(const X86ConvPlan& plan, const X86Target& target, int64_t images, bool no_winograd,
                           bool once) {
  X86ConvPlan candidate = plan;
  MethodChoice choice;
  // A tenth in favour of the exact sum.
  const double direct = 0.9 * direct_cycles(candidate, target, images);
  double least = direct;
  std::vector<std::pair<X86ConvPlan::Method, double>> possible{{X86ConvPlan::Method::direct, direct}};
  for (X86ConvPlan::Method method : {X86ConvPlan::Method::winograd2, X86ConvPlan::Method::winograd4}) {
    candidate.method = method;
    Support support = winograd_support(candidate);
    if (support.supported() && no_winograd) support = {"its rounding errors are larger, and exact sums are asked for"};
    if (const int64_t pieces = images * winograd_shape(candidate, target).pieces();
        support.supported() && pieces < kFewestPieces)
      support = {fmt::format("{} pieces; at least {} pay for its larger weights", pieces, kFewestPieces)};
    if (!support.supported()) {
      choice.refused.push_back(fmt::format("{}: {}", to_string(method), support.why));
      continue;
    }
    possible.emplace_back(method, winograd_cycles(candidate, target, images, once));
    if (possible.back().second < least) least = possible.back().second, choice.method = method;
  }
  for (const auto& [method, cycles] : possible)
    if (method != choice.method)
      choice.refused.push_back(
          fmt::format("{}: {:.2f} times as many cycles by the rule", to_string(method), cycles / least));
  return choice;
}

}  // namespace hone
