// The emitter of code for CUDA devices, as PTX.
//
// A function that begin_kernel() begins is run by all threads of a block, each with vectors of `lanes` elements of its
// own: (KernelArgs by value, scratch, items). frame.begin is the block's number, one item; what a thread does of it
// follows from thread(). Local functions become part of their callers. Pointers of arguments are of global memory, what
// shared() gives is of the block's memory, in LLVM's address space 3; elements lie at multiples of their size.
//
// All threads of a warp must reach what a warp does as one (shuffles, votes, ldmatrix, mma, reductions), all of a block
// its barriers.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "device/cuda/target.h"
#include "device/llvm/emit_loops.h"
#include "device/llvm/emitter.h"

namespace hone {

inline constexpr int kWarp = 32;  // threads

// The products of a warp: d = a b + c, a of 16 rows, b of 8 columns. Registers of a, b and c, in the layouts of the PTX
// manual's "Matrix Fragments": words of two (bf16, f16) or four (s8) elements side by side in k, or one of TF32.
struct MmaShape {
  std::string_view name;  // the instruction's, between mma.sync.aligned. and the operands
  int k, a, b;            // c and d have 4
  bool integers = false;  // c and d are i32; else f32
};
inline constexpr MmaShape kMmaBf16{"m16n8k16.row.col.f32.bf16.bf16.f32", 16, 4, 2};    // sm_80
inline constexpr MmaShape kMmaF16{"m16n8k16.row.col.f32.f16.f16.f32", 16, 4, 2};       // sm_80
inline constexpr MmaShape kMmaF16Half{"m16n8k8.row.col.f32.f16.f16.f32", 8, 2, 1};     // sm_75
inline constexpr MmaShape kMmaTf32{"m16n8k8.row.col.f32.tf32.tf32.f32", 8, 4, 2};      // sm_80
inline constexpr MmaShape kMmaS8{"m16n8k32.row.col.s32.s8.s8.s32", 32, 4, 2, true};    // sm_80
inline constexpr MmaShape kMmaU8S8{"m16n8k32.row.col.s32.u8.s8.s32", 32, 4, 2, true};  // sm_80

class CudaEmitter : public Emitter {
 public:
  CudaEmitter(llvm::Module& module, const CudaTarget& target, int lanes, int threads);

  const CudaTarget target;
  const int threads;         // of a block
  llvm::Type* const global;  // a pointer of global memory

  // Emits `body(other)` where this one stands, with vectors of `count` elements; returns what it does.
  template <class Body>
  auto with_lanes(int count, Body body) {
    CudaEmitter other(module, target, count, threads);
    other.b.SetInsertPoint(b.GetInsertBlock(), b.GetInsertPoint());
    struct Return {
      CudaEmitter &to, &from;
      ~Return() { to.b.SetInsertPoint(from.b.GetInsertBlock(), from.b.GetInsertPoint()); }
    } const back{*this, other};
    return body(other);
  }

  KernelFrame begin_kernel(const std::string& symbol, bool external = true) override;
  llvm::Value* kernel_pointer(const KernelFrame& frame, int index) override;  // of global memory

  // Numbers, i32.
  llvm::Value* n32(int64_t value) { return b.getInt32(static_cast<uint32_t>(value)); }
  llvm::Value* block();
  llvm::Value* thread();  // of the block
  llvm::Value* lane();    // of the warp
  llvm::Value* warp();    // of the block
  int warps() const { return threads / kWarp; }
  llvm::Value* low32(llvm::Value* number) { return b.CreateTrunc(number, i32); }
  llvm::Value* wide(llvm::Value* number) { return b.CreateZExt(number, i64); }  // of an i32 that is not negative

  // The block's own memory. shared() is what the launch asks for (Launch::shared_bytes), from an offset on, aligned to
  // 128 bytes; own_shared() are bytes that code has beside, at most 48 KB together.
  llvm::Value* shared(int64_t offset = 0);
  llvm::Value* own_shared(int64_t bytes, int alignment = 16);
  llvm::Value* in_global(llvm::Value* pointer) { return b.CreateAddrSpaceCast(pointer, global); }

  // Loads and stores of words (i32) side by side, in one instruction: 1, 2 or 4, aligned as a whole.
  Values load_words(llvm::Value* pointer, int count);
  void store_words(const Values& words, llvm::Value* pointer);
  // Of what nothing writes while the kernel runs.
  llvm::Value* load_constant(llvm::Type* type, llvm::Value* pointer, int alignment = 0);
  // Whether loads and stores of whole vectors are single instructions: their addresses are multiples of the vector's
  // size, or of 16 bytes where it is larger. Else, and where they are masked, elements come one by one.
  bool aligned_vectors = false;

  // The first `left` (i64) of a vector of `lanes`, or all; in one access where it is aligned.
  void store_stretch(llvm::Value* value, llvm::Value* pointer, llvm::Value* left);

  // Copies from global to shared memory of 4, 8 or 16 bytes, aligned as a whole, in groups that commit_copies() ends;
  // where `is_there` (i1) is false, zeros, and `from` is not read. wait_copies(n): all but the last n groups of this
  // thread are there, for others behind a barrier. Without cp.async (sm_75) they are there at once.
  void copy_async(llvm::Value* to_shared, llvm::Value* from, int bytes, llvm::Value* is_there = nullptr);
  void commit_copies();
  void wait_copies(int groups);

  void barrier();       // of the block
  void barrier_warp();  // orders memory, too

  // Values of other lanes of the warp, of any type of scalars or vectors.
  llvm::Value* shuffle_xor(llvm::Value* value, int mask);
  llvm::Value* shuffle_down(llvm::Value* value, int lanes);  // the own one where there is none
  llvm::Value* shuffle(llvm::Value* value, llvm::Value* from_lane);
  llvm::Value* any(llvm::Value* condition);  // i1 of i1, over the warp
  llvm::Value* all(llvm::Value* condition);
  llvm::Value* ballot(llvm::Value* condition);  // i32, a bit a lane

  // combine(x, y) over groups of `lanes_of` neighbouring lanes (a power of two), in a fixed tree; every lane has the
  // result. `combine` does not ask which of its operands is which.
  template <class Combine>
  llvm::Value* reduce_warp(llvm::Value* value, Combine combine, int lanes_of = kWarp) {
    for (int apart = lanes_of / 2; apart > 0; apart /= 2) value = combine(value, shuffle_xor(value, apart));
    return value;
  }
  // Over all threads of the block (a power of two), of several values at once; every thread has the results. Has
  // barriers before and behind its use of memory, which is own_shared().
  template <class Combine>
  Values reduce_block(Values values, Combine combine) {
    for (llvm::Value*& value : values) value = reduce_warp(value, combine);
    if (warps() == 1) return values;
    values = exchange_warps(values);
    for (llvm::Value*& value : values) value = reduce_warp(value, combine, warps());
    return values;
  }

  // Of each, that of warp lane() % warps(), whose lanes all have the same. Of the whole block.
  Values exchange_warps(const Values& values);

  // Matrices of a warp. ldmatrix: `count` (1, 2, 4) of 8 x 8 elements of 16 bits, whose rows of 16 bytes lie where
  // lanes 8 i … 8 i + 7 point to; a word each.
  Values ldmatrix(llvm::Value* row, int count, bool transposed = false);
  Values mma(const MmaShape& shape, const Values& rows, const Values& columns, const Values& sums);  // a, b, c
  bool has_mma(const MmaShape& shape) const {
    return target.capability() >= (shape.name == kMmaF16Half.name ? 75 : 80);
  }

  // Words and what they hold.
  llvm::Value* word(llvm::Value* value) { return as(value, i32); }
  llvm::Value* prmt(llvm::Value* low, llvm::Value* high, llvm::Value* selector);
  llvm::Value* prmt(llvm::Value* low, llvm::Value* high, uint32_t selector) { return prmt(low, high, n32(selector)); }
  llvm::Value* lop3(llvm::Value* x, llvm::Value* y, llvm::Value* z, uint8_t table);  // table: f(0xf0, 0xcc, 0xaa)
  // x y + z of pairs, as words, in one instruction with one rounding. bf16: sm_80.
  llvm::Value* fma_bf16x2(llvm::Value* x, llvm::Value* y, llvm::Value* z);
  llvm::Value* fma_f16x2(llvm::Value* x, llvm::Value* y, llvm::Value* z);
  llvm::Value* mul_f16x2(llvm::Value* x, llvm::Value* y);
  llvm::Value* sub_f16x2(llvm::Value* x, llvm::Value* y);
  // Two f32 as a word, `low` in its lower half, rounded to nearest even.
  llvm::Value* pack_bf16(llvm::Value* low, llvm::Value* high);
  llvm::Value* pack_f16(llvm::Value* low, llvm::Value* high);
  std::pair<llvm::Value*, llvm::Value*> split_bf16(llvm::Value* word);  // f32, exact
  std::pair<llvm::Value*, llvm::Value*> split_f16(llvm::Value* word);
  llvm::Value* to_tf32(llvm::Value* value);  // a word; rounded to nearest, ties away. sm_80

  // An instruction as PTX spells it, where its form matters: "prmt.b32 $0, $1, $2, $3;" with constraints "=r,r,r,r" of
  // LLVM's inline assembly (r: i32, f: f32, h: i16, l: i64 and pointers, d: f64). Several results are a struct.
  // `warp_wide`: all lanes of the warp run it together. `effects`: it does what its results do not show.
  llvm::Value* assembly(std::string_view text, std::string_view constraints, llvm::Type* result,
                        const Values& arguments, bool warp_wide = false, bool effects = false);
  // f(element) of each element of vectors of one length, or of scalars.
  template <class F>
  llvm::Value* each(llvm::Value* vector, F f) {
    auto* type = llvm::dyn_cast<llvm::FixedVectorType>(vector->getType());
    if (!type) return f(vector);
    llvm::Value* out = nullptr;
    for (uint64_t i = 0; i < type->getNumElements(); ++i) {
      llvm::Value* value = f(b.CreateExtractElement(vector, i));
      if (!out) out = llvm::PoisonValue::get(vec(value->getType(), static_cast<int>(type->getNumElements())));
      out = b.CreateInsertElement(out, value, i);
    }
    return out;
  }
  Values elements(llvm::Value* vector);            // one by one
  llvm::Value* vector_of(const Values& elements);  // and back

  llvm::GlobalVariable* table(llvm::Constant* value, int alignment = 64) override;
  void prefetch(llvm::Value*) override {}
  void prefetch_to_write(llvm::Value*) override {}
  llvm::Value* masked_load(llvm::Type* type, llvm::Value* pointer, llvm::Value* mask) override;
  void masked_store(llvm::Value* value, llvm::Value* pointer, llvm::Value* mask) override;
  llvm::Value* load_strided(DType dtype, llvm::Value* pointer, llvm::Value* byte_stride,
                            llvm::Value* mask = nullptr) override;
  llvm::Value* narrow(DType dtype, llvm::Value* value) override;
  llvm::Value* nearest(llvm::Value* x) override;
  llvm::Value* lookup_f32(llvm::Value* index, std::span<const float> table) override;
  int cheap_table() const override { return 8; }  // as CPUs with vectors of 8 have, whose bits results have
  llvm::Value* lookup_low_bytes(llvm::Value* index, std::span<const uint8_t> table) override;
  llvm::Value* far_sin_cos(ExprOp op, llvm::Value* x) override;
  std::string needed_features() const override;

 protected:
  void describe_machine(llvm::Function& function) override;
  int least_alignment(llvm::Type* type) const override;

 private:
  llvm::Value* special(llvm::Intrinsic::ID id, int below);  // a special register, whose value is below `below`
  llvm::Value* by_words(llvm::Value* value, const std::function<llvm::Value*(llvm::Value*)>& f);
  void need_matrices();
  llvm::Value* load_bytes(llvm::Value* pointer, int count);
  void store_bytes(llvm::Value* value, llvm::Value* pointer);
};

}  // namespace hone
