// Arguments of kernels by name. Their places are part of the machine code: code in object caches and bundles reads them
// there. So they are pinned here, class by class.
#include "device/args.h"

#include <gtest/gtest.h>

#include "kernels/gather/plan.h"
#include "kernels/pointwise/plan.h"

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
struct GoesBack {
  int64_t first = 0, second = 0;
  static constexpr auto places() { return std::tuple(SizesFrom{4}, &GoesBack::first, SizesFrom{3}, &GoesBack::second); }
};
static_assert(!lists_every_member<Forgets>());
static_assert(!lists_every_member<Repeats>());
static_assert(!lists_every_member<ForgetsItsBase>());
static_assert(!fits_kernel_args<TooLong>());
static_assert(!fits_kernel_args<GoesBack>());

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

template <auto... Members>
constexpr auto kPlaces = std::array{place_of<Members>...};

using G = GatherArgs;
static_assert(kPlaces<&G::table, &G::scales, &G::ids, &G::out, &G::zero_points, &G::global_scale> ==
              std::array{0, 1, 2, 3, 4, 5});
static_assert(kPlaces<&G::results, &G::rows, &G::ids_per_table> == std::array{0, 1, 2});

using P = PointwiseKernelArgs;
static_assert(kPlaces<&P::values, &P::sizes> == std::array{0, 0});

}  // namespace
}  // namespace hone
