// The loop of a block over k: rows of A and activations come through shared memory, some steps ahead; constant weights
// come straight to the registers of the warp that multiplies them, or as f32 through shared memory.
#pragma once

#include "device/cuda/gemm/shape.h"
#include "device/cuda/gemm/staging.h"
#include "device/cuda/gemm/tile_reader.h"

namespace hone {

class ProductLoop {
 public:
  struct Place {
    llvm::Value *row, *column;  // where the block's part begins, i32
  };
  // Either `w` or `reader`. `k`: i32.
  ProductLoop(CudaEmitter& e, const CudaGemmShape& shape, Operand& a, Operand* w, TileReader* reader, Place place,
              llvm::Value* k);

  // The sums of this thread. Behind it a barrier has been passed, and shared memory is free.
  Values run();
  // Sums of rows 16 p … 16 p + 15 of each warp to shared memory: shape.h, sums_slab_bytes().
  void store_rows(const Values& sums, int p);

 private:
  Values run_pairs();
  Values run_floats();
  void fetch(llvm::Value* step, llvm::Value* stage);
  llvm::Value* next_stage(llvm::Value* stage);
  llvm::Value* steps();

  Values read_tiles(llvm::Value* step);  // those of the warp's columns, one behind the other
  Values multiply(const Values& sums, const Values& tiles, llvm::Value* stage);
  Values multiply_groups(Values sums, const Values& tiles, llvm::Value* stage);
  Values rows(llvm::Value* stage, int i, int s);  // of A
  Values columns(const Values& tiles, llvm::Value* stage, int j,
                 int s);  // of 16 columns: both registers of eight, twice
  Values own(const Values& tiles, int j) const;

  Values read_run(llvm::Value* step);
  void store_run(const Values& codes, llvm::Value* step, llvm::Value* stage);
  Values multiply_floats(Values sums, llvm::Value* stage);

  llvm::Value* depth_tile(llvm::Value* step, llvm::Value* slab);
  llvm::Value* shared_at(llvm::Value* offset) { return e_.at(e_.shared(), e_.wide(offset)); }
  llvm::Value* add(llvm::Value* x, llvm::Value* y) { return e_.b.CreateAdd(x, y); }
  llvm::Value* add(llvm::Value* x, int64_t y) { return y ? e_.b.CreateAdd(x, e_.n32(y)) : x; }
  llvm::Value* mul(llvm::Value* x, int64_t y) { return e_.b.CreateMul(x, e_.n32(y)); }
  llvm::Value* low(llvm::Value* x, int bits) { return e_.b.CreateAnd(x, e_.n32((1 << bits) - 1)); }

  CudaEmitter& e_;
  const CudaGemmShape& s_;
  const CudaTile& t_;
  Operand& a_;
  Operand* w_;
  TileReader* reader_;
  const Place place_;
  llvm::Value* k_;
  Staging stage_a_;
  std::unique_ptr<Staging> stage_w_;
  llvm::Value *lane_, *warp_m_, *warp_n_, *warp_k_;
};

}  // namespace hone
