// Rows of a table by their numbers, and whole tables decoded (op dequantize).
//
// Elements side by side in a row of the result are a chunk, 16 bytes of it at most, so that a warp's loads and stores
// are stretches. A block makes kChunks of them a thread: a thread every threads-th, all of whose loads are on their way
// before it looks at the first.
#include <algorithm>

#include "base/multiples.h"
#include "device/cuda/cuda_kernel.h"
#include "device/cuda/packed_rows.h"
#include "ir/pointwise.h"
#include "kernels/elements.h"
#include "kernels/gather/plan.h"

namespace hone {
namespace {

using llvm::Value;
using A = GatherArgs;

constexpr int kChunks = 4;  // of a thread

bool is_packed(const GatherPlan& plan) { return !plan.table_format.empty(); }

int thread_lanes(const GatherPlan& plan, const CudaTarget&) {
  if (is_packed(plan)) return packed_row_lanes(plan);
  const int64_t widest = std::max(size_bytes(plan.table), size_bytes(plan.result));
  int lanes = static_cast<int>(std::min<int64_t>(8, 16 / widest));
  while (plan.columns % lanes != 0) lanes /= 2;
  return lanes;
}

class GatherEmitter {
 public:
  GatherEmitter(CudaEmitter& e, const GatherPlan& plan)
      : e_(e), plan_(plan), per_row_(plan.columns / e.lanes), size_(size_bytes(plan.result)) {
    if (is_packed(plan)) chunks_.emplace(e, plan);
  }

  void run(const std::string& symbol) {
    frame_ = e_.begin_kernel(symbol);
    if (chunks_) chunks_->bind(frame_);
    table_ = e_.pointer<&A::table>(frame_), out_ = e_.pointer<&A::out>(frame_);
    Value* all = e_.times(e_.size<&A::results>(frame_), per_row_);
    Value* block = e_.times(frame_.begin, int64_t{kChunks} * e_.threads);
    Value* first = e_.b.CreateAdd(block, e_.wide(e_.thread()));
    const auto both = [&] {
      Value* whole = e_.b.CreateICmpSLE(e_.b.CreateAdd(block, e_.num(int64_t{kChunks} * e_.threads)), all);
      e_.choose(
          whole, [&] { return run_chunks(first, kChunks); },
          [&] {
            for (int c = 0; c < kChunks; ++c) {
              Value* chunk = number(first, c);
              e_.when(e_.b.CreateICmpSLT(chunk, all), [&] { run_chunks(chunk, 1); });
            }
            return Values{};
          });
      return Values{};
    };
    if (e_.lanes == 1) {
      both();
    } else {
      const auto as_aligned = [&](bool aligned) {
        e_.aligned_vectors = aligned;
        both();
        e_.aligned_vectors = false;
        return Values{};
      };
      e_.choose(
          is_aligned(), [&] { return as_aligned(true); }, [&] { return as_aligned(false); });
    }
    e_.end_function();
  }

 private:
  Value* number(Value* first, int c) { return e_.b.CreateAdd(first, e_.num(int64_t{c} * e_.threads)); }

  // Views of other tensors may start between multiples of 16 bytes.
  Value* is_aligned() {
    Value* address = e_.b.CreatePtrToInt(out_, e_.i64);
    if (!chunks_) address = e_.b.CreateOr(address, e_.b.CreatePtrToInt(table_, e_.i64));
    Value* aligned = e_.b.CreateICmpEQ(e_.b.CreateAnd(address, e_.num(15)), e_.num(0));
    return chunks_ ? e_.b.CreateAnd(aligned, chunks_->aligned()) : aligned;
  }

  // `count` chunks from `first` on, each a block's threads behind the one before it.
  Values run_chunks(Value* first, int count) {
    Values places, plain;
    std::vector<PackedChunks::Raw> raw;
    for (int c = 0; c < count; ++c) {
      Value* chunk = number(first, c);
      places.push_back(e_.at(out_, e_.times(chunk, e_.lanes * size_)));
      if (plan_.every_row && chunks_ && chunks_->is_in_line()) {
        raw.push_back(chunks_->load_in_line(chunk, e_.aligned_vectors));
        continue;
      }
      Value *row = table_row(e_.b.CreateUDiv(chunk, e_.num(per_row_))),
            *column = e_.times(e_.b.CreateURem(chunk, e_.num(per_row_)), e_.lanes);
      if (chunks_) raw.push_back(chunks_->load(row, column, e_.aligned_vectors));
      else plain.push_back(load_plain(row, column));
    }
    for (size_t c = 0; c < places.size(); ++c) {
      if (chunks_) chunks_->store(raw[c], places[c], e_.aligned_vectors);
      else e_.store_elements(plain[c], plan_.result, places[c]);
    }
    return {};
  }

  Value* load_plain(Value* row, Value* column) {
    Value* place = e_.b.CreateAdd(e_.times(row, plan_.columns), column);
    return e_.load_elements(plan_.table, e_.at(table_, e_.times(place, size_bytes(plan_.table))));
  }

  // The row of the tables that row `i` of the result is.
  Value* table_row(Value* i) {
    if (plan_.every_row) return i;
    Value *rows = e_.size<&A::rows>(frame_), *per_table = e_.size<&A::ids_per_table>(frame_);
    const Values place = e_.choose(
        e_.b.CreateICmpEQ(e_.size<&A::results>(frame_), per_table),
        [&] {
          return Values{i, e_.num(0)};
        },
        [&] {
          return Values{e_.b.CreateURem(i, per_table), e_.b.CreateUDiv(i, per_table)};
        });
    Value* row = load_id(e_.at(e_.pointer<&A::ids>(frame_), e_.times(place[0], size_bytes(plan_.ids))));
    row = e_.b.CreateSelect(e_.b.CreateICmpSLT(row, e_.num(0)), e_.b.CreateAdd(row, rows), row);
    return e_.b.CreateAdd(row, e_.b.CreateMul(place[1], rows));
  }
  Value* load_id(Value* pointer) {
    Value* id = e_.load(e_.memory_type(plan_.ids), pointer);
    const bool negative = plan_.ids == DType::i8 || plan_.ids == DType::i16 || plan_.ids == DType::i32;
    return negative ? e_.b.CreateSExt(id, e_.i64) : e_.b.CreateZExtOrTrunc(id, e_.i64);
  }

  CudaEmitter& e_;
  const GatherPlan& plan_;
  const int64_t per_row_, size_;  // chunks; bytes of an element
  std::optional<PackedChunks> chunks_;
  KernelFrame frame_{};
  Value *table_ = nullptr, *out_ = nullptr;
};

void emit(CudaEmitter& e, const GatherPlan& plan, const std::string& symbol, int) {
  GatherEmitter(e, plan).run(symbol);
}

Support supports(const GatherPlan& plan, const CudaTarget&) {
  if (!is_integer(plan.ids)) return {fmt::format("row numbers of type {}", to_string(plan.ids))};
  if (plan.columns < 1) return {fmt::format("rows of {} elements", plan.columns)};
  if (is_packed(plan)) {
    if (compute_scalar(plan.result) != Scalar::f32)
      return {fmt::format("a packed table read as {}", to_string(plan.result))};
    return packed_rows_support(parse_format(plan.table_format));
  }
  for (DType dtype : {plan.table, plan.result})
    if (!has_machine_type(dtype)) return {fmt::format("elements of type {}", to_string(dtype))};
  if (compute_scalar(plan.table) != compute_scalar(plan.result))
    return {fmt::format("a table of {} read as {}", to_string(plan.table), to_string(plan.result))};
  return {};
}

Launch launch(const GatherPlan& plan, const CudaTarget& target, GatherArgs& args) {
  const int64_t chunks = args.results * (plan.columns / thread_lanes(plan, target));
  return {.items = ceil_div(chunks, int64_t{kChunks} * kCudaThreads)};
}

// Which block owns what of the result, and which lane which codes.
std::string describe(const GatherPlan& plan, const CudaTarget& target) {
  const int width = thread_lanes(plan, target), chunk = width * kCudaThreads;
  std::string text =
      fmt::format("rows of {} {}; a block owns {} elements of them", plan.columns,
                  is_packed(plan) ? std::string_view(plan.table_format) : to_string(plan.table), kChunks * chunk);
  if (plan.columns % (kChunks * chunk) == 0)
    text += fmt::format(" ({} blocks a row)", plan.columns / (kChunks * chunk));
  else if (kChunks * chunk % plan.columns == 0) text += fmt::format(" ({} whole rows)", kChunks * chunk / plan.columns);
  text += fmt::format(", {} times {} of {} threads: lane l of warp w takes {} {} from {} w + {} l on", kChunks, chunk,
                      kCudaThreads, width, is_packed(plan) ? "codes" : "elements", width * kWarp, width);
  return text;
}

constexpr CudaKernelClass<GatherPlan, GatherArgs> kGather{
    .supports = supports, .launch = launch, .describe = describe, .emit = emit, .lanes = thread_lanes};

}  // namespace

extern constinit const CudaKernelDef gather_on_cuda_def = cuda_kernel<kGather>();

}  // namespace hone
