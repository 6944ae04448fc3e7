// Transposes: tiles of 32 x 32 elements change rows and columns in shared memory, so that a warp reads and writes
// stretches of memory. An element takes a word there and a row of the tile 33, which are 32 banks in both directions.
#include "base/multiples.h"
#include "device/cuda/cuda_kernel.h"
#include "device/cuda/divide.h"
#include "kernels/lowering.h"
#include "kernels/transpose/plan.h"

namespace hone {
namespace {

using llvm::Value;

constexpr int kTile = 32, kPitch = kTile + 1;
constexpr int kThreads = 256;
constexpr int kStep = kThreads / kTile;  // rows of a tile that the block takes at a time

// With the multipliers by which a block finds its tile.
struct CudaTransposeArgs : TransposeKernelArgs {
  int64_t of_across = 0, of_down = 0;
  static constexpr auto places() {
    return std::tuple_cat(TransposeKernelArgs::places(),
                          std::tuple(&CudaTransposeArgs::of_across, &CudaTransposeArgs::of_down));
  }
};

class TransposeEmitter {
 public:
  TransposeEmitter(CudaEmitter& e, const TransposePlan& plan)
      : e_(e), bytes_(plan.element_bytes), element_(e.b.getIntNTy(static_cast<unsigned>(8 * plan.element_bytes))) {}

  void run(const std::string& symbol) {
    frame_ = e_.begin_kernel(symbol);
    auto& b = e_.b;
    Value *rows = size<&A::rows>(), *columns = size<&A::columns>();
    Value *down = e_.low32(tiles(rows)), *across = e_.low32(tiles(columns)), *item = e_.low32(frame_.begin);
    Value* line = divided(e_, item, e_.size<&CudaTransposeArgs::of_across>(frame_));
    Value* plane = divided(e_, line, e_.size<&CudaTransposeArgs::of_down>(frame_));
    Value* row = first(b.CreateSub(line, b.CreateMul(plane, down)));
    Value* column = first(b.CreateSub(item, b.CreateMul(line, across)));
    Value* tile = e_.own_shared(int64_t{4} * kTile * kPitch);
    Value *lane = e_.wide(e_.lane()), *warp = e_.wide(e_.warp());
    // Each thread's elements of a side: rows warp, warp + 8, … of it, in the lane's column.
    const auto sides = [&](Value* from_row, Value* from_column, Value* row_end, Value* column_end, auto body) {
      Value* inside = b.CreateICmpSLT(b.CreateAdd(from_column, lane), column_end);
      for (int k = 0; k < kTile; k += kStep) {
        Value* of_tile = b.CreateAdd(warp, e_.num(k));
        Value* at = b.CreateAdd(from_row, of_tile);
        body(of_tile, at, b.CreateAnd(inside, b.CreateICmpSLT(at, row_end)));
      }
    };
    Value* x =
        e_.at(e_.pointer<&A::x>(frame_),
              in_bytes(b.CreateAdd(b.CreateMul(e_.wide(plane), size<&A::x_plane>()), b.CreateAdd(column, lane))));
    Values loaded, places;
    sides(row, column, rows, columns, [&](Value* of_tile, Value* at, Value* is_there) {
      places.push_back(place(tile, of_tile, lane));
      loaded.push_back(e_.choose(
          is_there, [&] { return Values{e_.load(element_, e_.at(x, in_bytes(b.CreateMul(at, size<&A::x_row>()))))}; },
          [&] { return Values{llvm::Constant::getNullValue(element_)}; })[0]);
    });
    for (size_t k = 0; k < loaded.size(); ++k) e_.store(b.CreateZExt(loaded[k], e_.i32), places[k], 4);
    e_.barrier();
    Value* out =
        e_.at(e_.pointer<&A::out>(frame_),
              in_bytes(b.CreateAdd(b.CreateMul(e_.wide(plane), size<&A::out_plane>()), b.CreateAdd(row, lane))));
    sides(column, row, columns, rows, [&](Value* of_tile, Value* at, Value* is_there) {
      e_.when(is_there, [&] {
        Value* element = b.CreateTrunc(e_.load(e_.i32, place(tile, lane, of_tile), 4), element_);
        e_.store(element, e_.at(out, in_bytes(b.CreateMul(at, size<&A::out_row>()))));
      });
    });
    e_.end_function();
  }

 private:
  using A = TransposeKernelArgs;
  template <auto Member>
  Value* size() {
    return e_.size<Member>(frame_);
  }
  Value* in_bytes(Value* elements) { return e_.times(elements, bytes_); }
  Value* tiles(Value* extent) { return e_.b.CreateLShr(e_.b.CreateAdd(extent, e_.num(kTile - 1)), e_.num(5)); }
  Value* first(Value* tile) { return e_.times(e_.wide(tile), kTile); }
  Value* place(Value* tile, Value* row, Value* column) {
    return e_.at(tile, e_.times(e_.b.CreateAdd(e_.times(row, kPitch), column), 4));
  }

  CudaEmitter& e_;
  const int bytes_;
  llvm::Type* const element_;
  KernelFrame frame_{};
};

void emit(CudaEmitter& e, const TransposePlan& plan, const std::string& symbol, int) {
  TransposeEmitter(e, plan).run(symbol);
}

// Tiles are the same for all sizes.
Support adapt(const CudaDevice&, const Lowering&, Prepared& prepared) {
  StepDraft& step = prepared.step();
  TransposePlan plan = step.plan->get<TransposePlan>();
  plan.rows = plan.columns = 0;
  step.plan = plan;
  return {};
}

Support supports(const TransposePlan& plan, const CudaTarget&) {
  if (plan.element_bytes != 1 && plan.element_bytes != 2 && plan.element_bytes != 4)
    return {fmt::format("tiles of elements of {} bytes", plan.element_bytes)};
  return {};
}

Launch launch(const TransposePlan&, const CudaTarget&, CudaTransposeArgs& args) {
  const int64_t down = ceil_div(args.rows, int64_t{kTile}), across = ceil_div(args.columns, int64_t{kTile});
  const int64_t items = args.planes * down * across;
  if (items == 0) return {};
  if (items > kMostDivided) fail("a transpose of {} tiles; on CUDA devices at most {}", items, kMostDivided);
  args.of_across = inverse_of(across), args.of_down = inverse_of(down);
  return {.items = items};
}

std::string describe(const TransposePlan& plan, const CudaTarget&) {
  return fmt::format("tiles of {0} x {0} {1}-byte elements in shared memory", kTile, plan.element_bytes);
}

int threads(const TransposePlan&, const CudaTarget&) { return kThreads; }

constexpr CudaKernelClass<TransposePlan, CudaTransposeArgs> kTranspose{
    .adapt = adapt, .supports = supports, .launch = launch, .describe = describe, .emit = emit, .threads = threads};

}  // namespace

extern constinit const CudaKernelDef transpose_on_cuda_def = cuda_kernel<kTranspose>();

}  // namespace hone
