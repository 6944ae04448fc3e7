// Arguments of kernels by name. Their places are part of the machine code: code in object caches and bundles reads them
// there. So they are pinned here, class by class.
#include "device/args.h"

#include <gtest/gtest.h>

#include "device/x86/attention/plan.h"
#include "device/x86/block_gemm/plan.h"
#include "device/x86/conv/shape.h"
#include "device/x86/conv/winograd_shape.h"
#include "device/x86/conv_weight_gradient/plan.h"
#include "device/x86/gemm/plan.h"
#include "device/x86/recurrent/shape.h"
#include "device/x86/reduce_window/shape.h"
#include "kernels/add_rows/plan.h"
#include "kernels/attention_gradient/plan.h"
#include "kernels/cache_append/plan.h"
#include "kernels/columns/plan.h"
#include "kernels/gather/plan.h"
#include "kernels/indexed/plan.h"
#include "kernels/max_pool_gradient/plan.h"
#include "kernels/pointwise/plan.h"
#include "kernels/quantize/plan.h"
#include "kernels/resize/plan.h"
#include "kernels/roi_align/plan.h"
#include "kernels/row/plan.h"
#include "kernels/running/plan.h"
#include "kernels/top_k/plan.h"
#include "kernels/transpose/plan.h"

namespace hone {
namespace {

struct SampleArgs {
  void *x = nullptr, *out = nullptr;
  std::array<void*, 3> rest{};
  int64_t m = 0;
  std::array<int64_t, 4> strides{};
  int64_t n = 0;
  static constexpr auto places() {
    using A = SampleArgs;
    return std::tuple(&A::x, &A::out, &A::rest, &A::m, SizesFrom{2}, &A::strides, &A::n);
  }
};
struct DerivedArgs : SampleArgs {
  int64_t block = 0, parts = 0;
  static constexpr auto places() {
    return std::tuple_cat(SampleArgs::places(), std::tuple(SizesFrom{32}, &DerivedArgs::block, &DerivedArgs::parts));
  }
};
static_assert(place_of<&SampleArgs::out> == 1 && place_of<&SampleArgs::rest> == 2);
static_assert(place_of<&SampleArgs::m> == 0 && place_of<&SampleArgs::strides> == 2 && place_of<&SampleArgs::n> == 6);
static_assert(place_of<&DerivedArgs::n> == 6 && place_of<&DerivedArgs::block> == 32);
static_assert(lists_every_member<DerivedArgs>() && fits_kernel_args<DerivedArgs>());

struct Forgets {
  int64_t listed = 0, forgotten = 0;
  static constexpr auto places() { return std::tuple(&Forgets::listed); }
};
struct Repeats {
  int64_t first = 0, second = 0;
  static constexpr auto places() { return std::tuple(&Repeats::first, &Repeats::first); }
};
struct ForgetsItsBase : SampleArgs {
  int64_t own = 0;
  static constexpr auto places() { return std::tuple(&ForgetsItsBase::own); }
};
struct TooLong {
  std::array<int64_t, 49> sizes{};
  static constexpr auto places() { return std::tuple(&TooLong::sizes); }
};
struct Overlaps {
  int64_t first = 0;
  std::array<int64_t, 2> second{};
  static constexpr auto places() { return std::tuple(SizesFrom{4}, &Overlaps::first, SizesFrom{3}, &Overlaps::second); }
};
struct FillsGap : SampleArgs {
  int64_t own = 0;
  static constexpr auto places() {
    return std::tuple_cat(SampleArgs::places(), std::tuple(SizesFrom{1}, &FillsGap::own));
  }
};
static_assert(place_of<&FillsGap::own> == 1 && place_of<&FillsGap::strides> == 2 && fits_kernel_args<FillsGap>());
static_assert(!lists_every_member<Forgets>());
static_assert(!lists_every_member<Repeats>());
static_assert(!lists_every_member<ForgetsItsBase>());
static_assert(!fits_kernel_args<TooLong>());
static_assert(!fits_kernel_args<Overlaps>());

TEST(KernelArgs, AreWrittenToTheirPlacesAndReadFromThem) {
  int values[5];
  DerivedArgs named{
      {.x = &values[0], .out = &values[1], .rest = {&values[2], &values[3]}, .m = 5, .strides = {1, 2, 3, 4}, .n = 6},
      /*block=*/7,
      /*parts=*/8};
  KernelArgs args = to_args(named);
  KernelArgs want;
  want.pointers = {&values[0], &values[1], &values[2], &values[3]};
  want.dims = {5, 0, 1, 2, 3, 4, 6};
  want.dims[32] = 7, want.dims[33] = 8;
  EXPECT_EQ(args.pointers, want.pointers);
  EXPECT_EQ(args.dims, want.dims);

  const auto read = from_args<SampleArgs>(args);
  EXPECT_EQ(read.rest[1], &values[3]);
  EXPECT_EQ(read.strides[3], 4);
  EXPECT_EQ(read.n, 6);

  write_args(SampleArgs{.m = 9}, args);
  EXPECT_EQ(args.dims[0], 9);
  EXPECT_EQ(args.dims[33], 8) << "what the list does not name stays";
}

// Places of a class's arguments, pointers and then sizes. Code reads arrays from their first place on.
template <auto... Members>
constexpr auto kPlaces = std::array{place_of<Members>...};

[[maybe_unused]] constexpr void check_places_of_classes() {
  {
    using A = AddRowsArgs;
    static_assert(kPlaces<&A::d, &A::ids, &A::epilogue> == std::array{0, 1, 2});
    static_assert(kPlaces<&A::rows, &A::tables, &A::id_count> == std::array{0, 1, 2});
  }
  {
    using A = X86AttentionArgs;
    static_assert(kPlaces<&A::q, &A::k, &A::v, &A::mask, &A::out, &A::sinks, &A::shared, &A::k_scales,
                          &A::k_zero_points, &A::v_scales, &A::v_zero_points, &A::table> ==
                  std::array{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
    static_assert(
        kPlaces<&A::batches, &A::queries, &A::keys, &A::q_row, &A::k_row, &A::v_row, &A::out_row, &A::mask_strides,
                &A::first_position, &A::before, &A::behind, &A::item_heads, &A::item_queries, &A::in_rows,
                &A::strip_rows, &A::ranges, &A::range_keys, &A::sequence_pages, &A::k_pages, &A::v_pages> ==
        std::array{0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21});
  }
  {
    using A = AttentionGradientArgs;
    static_assert(kPlaces<&A::q, &A::k, &A::v, &A::d, &A::mask, &A::dq, &A::dk, &A::dv> ==
                  std::array{0, 1, 2, 3, 4, 5, 6, 7});
    static_assert(kPlaces<&A::batches, &A::queries, &A::keys, &A::row_strides, &A::mask_strides, &A::first_position,
                          &A::before, &A::behind> == std::array{0, 1, 2, 3, 7, 10, 11, 12});
  }
  {
    using A = X86BlockGemmArgs;
    static_assert(kPlaces<&A::a, &A::w, &A::epilogue> == std::array{0, 1, 2});
    static_assert(kPlaces<&A::m, &A::block_rows> == std::array{0, 1});
  }
  {
    using A = CacheAppendArgs;
    static_assert(kPlaces<&A::from, &A::to, &A::table, &A::lengths> == std::array{0, 3, 6, 7});
    static_assert(kPlaces<&A::sequences, &A::new_rows, &A::page_rows, &A::sequence_pages, &A::pages, &A::row_bytes> ==
                  std::array{0, 1, 2, 3, 4, 5});
  }
  {
    using A = ColumnsArgs;
    static_assert(kPlaces<&A::values> == std::array{0});
    static_assert(kPlaces<&A::rows, &A::columns, &A::matrices, &A::part_rows, &A::parts, &A::operands> ==
                  std::array{0, 1, 2, 3, 4, 5});
  }
  {
    using A = DirectConvArgs;
    static_assert(kPlaces<&A::x, &A::w, &A::epilogue> == std::array{0, 1, 2});
    static_assert(kPlaces<&A::rows, &A::images, &A::window, &A::strip_height, &A::chains, &A::row_bytes, &A::block_rows,
                          &A::blocks, &A::copied_bytes, &A::column_runs> ==
                  std::array{0, 1, 2, 32, 33, 34, 35, 36, 37, 38});
  }
  {
    using A = WinogradArgs;
    static_assert(kPlaces<&A::pieces, &A::pieces_across, &A::block_pieces> == std::array{32, 33, 34});
  }
  {
    using A = PlaceBlockArgs;
    static_assert(kPlaces<&A::d, &A::x, &A::parts, &A::dw> == std::array{0, 1, 2, 3});
    static_assert(
        kPlaces<&A::images, &A::window, &A::block_images, &A::block_rows, &A::block_columns, &A::part_count> ==
        std::array{0, 2, 32, 33, 34, 35});
  }
  {
    using A = GatherArgs;
    static_assert(kPlaces<&A::table, &A::scales, &A::ids, &A::out, &A::zero_points, &A::global_scale> ==
                  std::array{0, 1, 2, 3, 4, 5});
    static_assert(kPlaces<&A::results, &A::rows, &A::ids_per_table> == std::array{0, 1, 2});
  }
  {
    using A = X86GemmArgs;
    static_assert(kPlaces<&A::a, &A::w, &A::epilogue> == std::array{0, 1, 2});
    static_assert(kPlaces<&A::m, &A::batches, &A::batch_strides, &A::a_row, &A::w_row, &A::inner_batches,
                          &A::inner_strides, &A::n, &A::k, &A::block_rows, &A::full_strides, &A::middle_loops> ==
                  std::array{0, 1, 2, 5, 6, 7, 8, 11, 12, 13, 14, 32});
  }
  {
    using A = IndexedArgs;
    static_assert(kPlaces<&A::data, &A::indices, &A::updates, &A::out> == std::array{0, 1, 2, 3});
    static_assert(kPlaces<&A::tuples, &A::slice_bytes, &A::data_bytes, &A::index_count, &A::axes> ==
                  std::array{0, 1, 2, 3, 4});
  }
  {
    using A = MaxPoolGradientArgs;
    static_assert(kPlaces<&A::x, &A::d, &A::dx> == std::array{0, 1, 2});
    static_assert(kPlaces<&A::images, &A::window> == std::array{0, 2});
  }
  {
    using A = PointwiseKernelArgs;
    static_assert(kPlaces<&A::values> == std::array{0});
    static_assert(kPlaces<&A::sizes> == std::array{0});
  }
  {
    using A = QuantizeArgs;
    static_assert(kPlaces<&A::x, &A::out, &A::scales, &A::zero_points, &A::parts, &A::counts> ==
                  std::array{0, 1, 2, 3, 4, 5});
    static_assert(kPlaces<&A::lines, &A::length, &A::line_stride, &A::groups_per_line, &A::line_bytes, &A::stretches,
                          &A::stretch_stride, &A::plane_bytes, &A::part_count> ==
                  std::array{0, 1, 2, 3, 4, 5, 6, 7, 8});
  }
  {
    using A = X86RecurrentArgs;
    static_assert(kPlaces<&A::x, &A::r, &A::bias, &A::lengths, &A::initial_h, &A::initial_c, &A::peepholes, &A::y,
                          &A::last_h, &A::last_c> == std::array{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
    static_assert(kPlaces<&A::steps, &A::batch, &A::sequences> == std::array{0, 1, 2});
  }
  {
    using A = WindowTileArgs;
    static_assert(kPlaces<&A::x, &A::w, &A::epilogue> == std::array{0, 1, 2});
    static_assert(kPlaces<&A::images, &A::window, &A::counted, &A::block_vectors, &A::blocks, &A::inside_first,
                          &A::inside_end, &A::overhang> == std::array{0, 2, 10, 32, 33, 34, 35, 36});
  }
  {
    using A = ResizeArgs;
    static_assert(
        kPlaces<&A::x, &A::out, &A::row_positions, &A::row_weights, &A::column_positions, &A::column_weights> ==
        std::array{0, 1, 2, 3, 4, 5});
    static_assert(kPlaces<&A::images, &A::height, &A::width, &A::row_places, &A::column_places> ==
                  std::array{0, 1, 2, 3, 4});
  }
  {
    using A = RoiAlignArgs;
    static_assert(kPlaces<&A::x, &A::regions, &A::images_of, &A::out> == std::array{0, 1, 2, 3});
    static_assert(kPlaces<&A::region_count, &A::images, &A::height, &A::width, &A::bins_down, &A::bins_across> ==
                  std::array{0, 1, 2, 3, 4, 5});
  }
  {
    using A = RowArgs;
    static_assert(kPlaces<&A::values> == std::array{0});
    static_assert(kPlaces<&A::rows, &A::length, &A::strides> == std::array{0, 1, 2});
  }
  {
    using A = RunningArgs;
    static_assert(kPlaces<&A::x, &A::out> == std::array{0, 1});
    static_assert(kPlaces<&A::outer, &A::length, &A::inner> == std::array{0, 1, 2});
  }
  {
    using A = TopKArgs;
    static_assert(kPlaces<&A::x, &A::values, &A::indices> == std::array{0, 1, 2});
    static_assert(kPlaces<&A::outer, &A::length, &A::inner, &A::k> == std::array{0, 1, 2, 3});
  }
  {
    using A = TransposeKernelArgs;
    static_assert(kPlaces<&A::x, &A::out> == std::array{0, 1});
    static_assert(kPlaces<&A::planes, &A::rows, &A::columns, &A::x_plane, &A::out_plane, &A::x_row, &A::out_row> ==
                  std::array{0, 1, 2, 3, 4, 5, 6});
  }
}

// Classes whose plans have a varying number of operands count through arrays.
TEST(KernelArgs, ArraysHaveThePlacesThatPlansSay) {
  PointwisePlan pointwise;
  pointwise.rank = 3;
  EXPECT_EQ(pointwise.stride_at(0, 0), 3);
  EXPECT_EQ(pointwise.stride_at(2, 1), 10) << "of the results behind two operands";
  RowPlan row;
  row.operands.resize(3);
  EXPECT_EQ(row.period_at(1), 4u);
  EXPECT_EQ(row.part_rows_at(), 6u);
  EXPECT_EQ(row.result_at(1), 8u);
  EXPECT_EQ(kMostBatchLoops, 6u);
}

TEST(KernelArgs, OfAPlaneAreItsSizesInTheirOrder) {
  const PlaneWindow window{.height = 1,
                           .width = 2,
                           .out_height = 3,
                           .out_width = 4,
                           .kernel_height = 7,
                           .kernel_width = 8,
                           .pad_top = 5,
                           .pad_left = 6};
  WindowSizes sizes{};
  const PlaneWindow open = on_any_plane(window, sizes);
  EXPECT_EQ(sizes, (WindowSizes{1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(open.height, 0);
  EXPECT_EQ(open.kernel_width, 8) << "the window's own stay";
  EXPECT_EQ(on_plane_of(open, sizes).to_text(), window.to_text());
}

}  // namespace
}  // namespace hone
