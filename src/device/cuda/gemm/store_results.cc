#include "device/cuda/gemm/store_results.h"

#include <algorithm>

#include "device/llvm/expr_emit.h"
#include "kernels/program_uses.h"

namespace hone {

using llvm::Value;
using A = GemmArgs;  // those of other classes agree with it in what is read here (shares_epilogue())
using Access = Epilogue::Access;

ResultStore::ResultStore(CudaEmitter& e, const GemmPlan& plan, const CudaGemmShape& shape, const KernelFrame& frame,
                         const ResultPlace& place)
    : e_(e), plan_(plan), s_(shape), place_(place) {
  prepare_operands(frame);
}

// Where all columns are multiples of four, whole vectors may be.
Value* ResultStore::is_aligned(Value* pointer, Value* stride, DType dtype) {
  if (plan_.n == 0 || plan_.n % 4) return nullptr;
  Value* bits = e_.b.CreatePtrToInt(pointer, e_.i64);
  if (stride) bits = e_.b.CreateOr(bits, stride);
  const int64_t bytes = std::min<int64_t>(16, 4 * size_bytes(dtype));
  return e_.b.CreateICmpEQ(e_.b.CreateAnd(bits, e_.num(bytes - 1)), e_.num(0));
}

void ResultStore::prepare_operands(const KernelFrame& frame) {
  auto& b = e_.b;
  const auto operands = static_cast<int>(plan_.operands.size());
  Value* result_stride = plan_.result_row_stride ? e_.num(plan_.result_row_stride) : place_.n;
  if (plan_.result_row_stride == GemmPlan::kAnyStride)
    result_stride = e_.size<&A::full_strides>(
        frame, static_cast<int>(std::ranges::count(plan_.operands, Access::full, &GemmPlan::Operand::access)));
  const auto matrix = [&](Value* pointer, Value* stride, DType dtype) {
    Value* base = e_.at(pointer, e_.times(place_.offset, size_bytes(dtype)));
    stride = e_.times(stride, size_bytes(dtype));
    return Lying{base, stride, is_aligned(base, stride, dtype)};
  };
  int full = 0;
  for (int i = 0; i < operands; ++i) {
    const auto& [dtype, access] = plan_.operands[static_cast<size_t>(i)];
    Value* pointer = e_.pointer<&A::epilogue>(frame, i);
    if (access == Access::full) {
      Value* stride = e_.size<&A::full_strides>(frame, full++);
      operands_.push_back(
          matrix(pointer, b.CreateSelect(b.CreateICmpEQ(stride, e_.num(0)), result_stride, stride), dtype));
    } else if (access == Access::column) {
      operands_.push_back({pointer, nullptr, is_aligned(pointer, nullptr, dtype)});
    } else {
      operands_.push_back({pointer});
    }
  }
  for (size_t j = 0; j < plan_.results.size(); ++j)
    results_.push_back(
        matrix(e_.pointer<&A::epilogue>(frame, operands + static_cast<int>(j)), result_stride, plan_.results[j]));
}

void ResultStore::run(ProductLoop& loop, const Values& sums) {
  auto& b = e_.b;
  const CudaTile& t = s_.tile;
  const int vectors = t.columns() / 4, count = 16 * t.warps_m * vectors;
  e_.loop(e_.num(0), e_.num(t.row_tiles), 1, {}, [&](Value* pass, const Values&) {
    if (t.row_tiles > 1) e_.barrier();  // what was there has been read
    for (int p = 0; p < t.row_tiles; ++p) {
      const auto those = [&] { loop.store_rows(sums, p); };
      if (t.row_tiles == 1) those();
      else e_.when(b.CreateICmpEQ(pass, e_.num(p)), those);
    }
    e_.barrier();
    e_.loop(e_.wide(e_.thread()), e_.num(count), e_.threads, {}, [&](Value* number, const Values&) {
      Value *index = e_.low32(number), *vector = b.CreateAnd(index, e_.n32(vectors - 1));
      Value *own = b.CreateUDiv(index, e_.n32(vectors)), *warp = b.CreateLShr(own, 4);
      Value* row = b.CreateAdd(b.CreateMul(warp, e_.n32(16 * t.row_tiles)), b.CreateAnd(own, 15));
      row = e_.wide(b.CreateAdd(place_.row, b.CreateAdd(row, b.CreateShl(e_.low32(pass), 4))));
      Value* column = e_.wide(b.CreateAdd(place_.column, b.CreateShl(vector, 2)));
      Value* inside = b.CreateAnd(b.CreateICmpSLT(row, place_.rows), b.CreateICmpSLT(column, place_.n));
      e_.when(inside, [&] { four(sum_of(own, vector), row, column); });
      return Values{};
    });
    return Values{};
  });
}

// Of all slabs of k, the first first.
Value* ResultStore::sum_of(Value* row, Value* vector) {
  Value* at = e_.b.CreateAdd(e_.b.CreateMul(row, e_.n32(s_.sums_row_bytes())), e_.b.CreateShl(vector, 4));
  Value* sum = nullptr;
  for (int slab = 0; slab < s_.tile.warps_k; ++slab) {
    Value* own = e_.b.CreateAdd(at, e_.n32(slab * s_.sums_slab_bytes()));
    Value* part = e_.load(e_.v_f32, e_.at(e_.shared(), e_.wide(own)), 16);
    sum = sum ? e_.b.CreateFAdd(sum, part) : part;
  }
  return sum;
}

Value* ResultStore::load(DType dtype, Value* pointer, Value* aligned, Value* mask) {
  const auto one = [&](bool whole) {
    e_.aligned_vectors = whole;
    Value* loaded = e_.load_elements(dtype, pointer, mask);
    e_.aligned_vectors = false;
    return Values{loaded};
  };
  if (!aligned || mask) return one(false)[0];
  return e_.choose(
      aligned, [&] { return one(true); }, [&] { return one(false); })[0];
}

void ResultStore::store(Value* value, DType dtype, Value* pointer, Value* aligned, Value* mask) {
  const auto one = [&](bool whole) {
    e_.aligned_vectors = whole;
    e_.store_elements(value, dtype, pointer, mask);
    e_.aligned_vectors = false;
  };
  if (!aligned || mask) return one(false);
  e_.when(aligned, [&] { one(true); });
  e_.when(e_.b.CreateNot(aligned), [&] { one(false); });
}

void ResultStore::four(Value* sums, Value* row, Value* column) {
  auto& b = e_.b;
  Value* mask = plan_.n % 4 || plan_.n == 0 ? e_.tail_mask(b.CreateSub(place_.n, column)) : nullptr;
  Value* whole_row = b.CreateAdd(place_.batch_row, row);
  Values args{sums};
  for (size_t i = 0; i < operands_.size(); ++i) {
    const auto& [dtype, access] = plan_.operands[i];
    const Lying& o = operands_[i];
    const int64_t size = size_bytes(dtype);
    Value* along = e_.at(o.base, e_.times(column, size));
    if (access == Access::full) args.push_back(load(dtype, e_.at(along, e_.times(row, o.stride)), o.aligned, mask));
    else if (access == Access::column) args.push_back(load(dtype, along, o.aligned, mask));
    else if (access == Access::row) args.push_back(e_.load_broadcast(dtype, e_.at(o.base, e_.times(whole_row, size))));
    else args.push_back(e_.load_broadcast(dtype, o.base));
  }
  Value* index = uses_index(plan_.program) ? b.CreateAdd(b.CreateMul(whole_row, place_.n), column) : nullptr;
  args.resize(plan_.program.args.size());
  const Values out = emit_program(e_, plan_.program, args, index);
  for (size_t j = 0; j < results_.size(); ++j) {
    Value* along = e_.at(results_[j].base, e_.times(column, size_bytes(plan_.results[j])));
    store(out[j], plan_.results[j], e_.at(along, e_.times(row, results_[j].stride)), results_[j].aligned, mask);
  }
}

}  // namespace hone
