#include "device/cuda/gemm/store_results.h"

namespace hone {

using llvm::Value;

namespace {

// Four sums of a row of those in shared memory: of all slabs of k, the first first.
Value* sum_of(CudaEmitter& e, const CudaGemmShape& s, Value* row, Value* vector) {
  Value* at = e.b.CreateAdd(e.b.CreateMul(row, e.n32(s.sums_row_bytes())), e.b.CreateShl(vector, 4));
  Value* sum = nullptr;
  for (int slab = 0; slab < s.tile.warps_k; ++slab) {
    Value* own = e.b.CreateAdd(at, e.n32(slab * s.sums_slab_bytes()));
    Value* part = e.load(e.v_f32, e.at(e.shared(), e.wide(own)), 16);
    sum = sum ? e.b.CreateFAdd(sum, part) : part;
  }
  return sum;
}

}  // namespace

void store_results(CudaEmitter& e, const CudaGemmShape& s, ProductLoop& loop, const Values& sums,
                   const ResultPlace& place, CudaEpilogue& epilogue) {
  auto& b = e.b;
  const CudaTile& t = s.tile;
  const int vectors = t.columns() / 4, count = 16 * t.warps_m * vectors;
  const auto one = [&](Value* pass, Value* number) {
    Value *index = e.low32(number), *vector = b.CreateAnd(index, e.n32(vectors - 1));
    Value *own = b.CreateUDiv(index, e.n32(vectors)), *warp = b.CreateLShr(own, 4);
    Value* row = b.CreateAdd(b.CreateMul(warp, e.n32(16 * t.row_tiles)), b.CreateAnd(own, 15));
    row = e.wide(b.CreateAdd(place.row, b.CreateAdd(row, b.CreateShl(e.low32(pass), 4))));
    Value* column = e.wide(b.CreateAdd(place.column, b.CreateShl(vector, 2)));
    Value* inside = b.CreateAnd(b.CreateICmpSLT(row, place.rows), b.CreateICmpSLT(column, place.n));
    Value* placed = place.first_column ? b.CreateAdd(column, place.first_column) : column;
    e.when(inside, [&] {
      Value* four = sum_of(e, s, own, vector);
      if (place.side == 4) return epilogue.write(row, placed, four);
      for (int i = 0; i < 4; ++i)
        e.when(b.CreateICmpSLT(b.CreateAdd(column, e.num(i)), place.n), [&] {
          epilogue.write(row, b.CreateAdd(placed, e.num(i)), b.CreateShuffleVector(four, std::vector<int>{i}));
        });
    });
  };
  e.loop(e.num(0), e.num(t.row_tiles), 1, {}, [&](Value* pass, const Values&) {
    if (t.row_tiles > 1) e.barrier();  // what was there has been read
    for (int p = 0; p < t.row_tiles; ++p) {
      const auto those = [&] { loop.store_rows(sums, p); };
      if (t.row_tiles == 1) those();
      else e.when(b.CreateICmpEQ(pass, e.num(p)), those);
    }
    e.barrier();
    e.loop(e.wide(e.thread()), e.num(count), e.threads, {}, [&](Value* number, const Values&) {
      one(pass, number);
      return Values{};
    });
    return Values{};
  });
}

}  // namespace hone
