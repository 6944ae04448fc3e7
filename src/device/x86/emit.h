// The vector emitter: LLVM IR with explicit vectors, and the handful of primitives in which instruction-set levels
// differ.
//
// A module is emitted through one Emitter. `lanes` 32-bit elements fill a register (16 with AVX-512, else 8); wider or
// narrower elements still come `lanes` at a time, so that one element program reads operands of every type. No
// fast-math flag is set: fused multiply-adds are asked for with fma().
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "device/args.h"
#include "device/x86/target.h"
#include "ir/type.h"

namespace hone {

using Values = std::vector<llvm::Value*>;

// The arguments of a kernel function (KernelFn) while its body is emitted.
struct KernelFrame {
  llvm::Function* function;
  llvm::Value *args, *begin, *end, *scratch;
};

class Emitter {
 public:
  Emitter(llvm::Module& module, const Target& target);

  llvm::LLVMContext& context;
  llvm::Module& module;
  llvm::IRBuilder<> b;
  Target target;
  const int lanes;
  const bool avx512, bf16, vbmi;  // AVX-512 F/BW/VL/DQ; its BF16 dot products; its byte permutes
  llvm::Type *const f32, *const f64, *const i8, *const i16, *const i32, *const i64, *const ptr;
  llvm::Type *const v_f32, *const v_i32;  // `lanes` of each
  int registers() const { return target.registers(); }

  // Types and constants.
  llvm::Type* vec(llvm::Type* element, int count = 0) const;  // count 0: `lanes`
  llvm::Value* num(int64_t value) { return b.getInt64(static_cast<uint64_t>(value)); }
  llvm::Constant* c_f32(double value) const { return llvm::ConstantFP::get(v_f32, value); }  // splat over `lanes`
  llvm::Constant* c_i32(uint32_t value) const { return llvm::ConstantInt::get(v_i32, value); }
  llvm::Constant* words(std::span<const uint16_t> values) const;  // constant vectors
  llvm::Constant* bytes(std::span<const uint8_t> values) const;
  llvm::Constant* lane_numbers(llvm::Type* element) const;                 // 0, 1, 2, … lanes-1
  llvm::GlobalVariable* table(llvm::Constant* value, int alignment = 64);  // a private constant in the module

  // Functions. A hot loop belongs in a function of its own, or loop-invariant constants of its surroundings are parked
  // in its registers; `local_function` makes one that is not inlined (all code generation is without IR passes).
  KernelFrame begin_kernel(const std::string& symbol, bool external = true);  // leaves the builder in its entry block
  llvm::Function* begin_function(const std::string& symbol, llvm::Type* result, std::span<llvm::Type* const> params,
                                 bool external);
  void end_function() { b.CreateRetVoid(); }
  // Arguments by name: e.size<&GatherArgs::rows>(frame), or element i of an array of them.
  template <auto Member>
  llvm::Value* pointer(const KernelFrame& frame, int i = 0) {
    return kernel_pointer(frame, place_of<Member> + i);
  }
  template <auto Member>
  llvm::Value* size(const KernelFrame& frame, int i = 0) {
    return kernel_dim(frame, place_of<Member> + i);
  }
  llvm::Value* kernel_pointer(const KernelFrame& frame, int index);         // KernelArgs::pointers[index]
  llvm::Value* kernel_dim(const KernelFrame& frame, int index);             // KernelArgs::dims[index]
  llvm::Value* stack(llvm::Type* type, int64_t count, int alignment = 64);  // alloca in the entry block

  // Addresses, in bytes; loads and stores.
  llvm::Value* at(llvm::Value* pointer, llvm::Value* byte_offset) { return b.CreateGEP(i8, pointer, byte_offset); }
  llvm::Value* at(llvm::Value* pointer, int64_t byte_offset) {
    return byte_offset ? at(pointer, num(byte_offset)) : pointer;
  }
  llvm::Value* times(llvm::Value* value, int64_t factor) {
    return factor == 1 ? value : b.CreateMul(value, num(factor));
  }
  llvm::Value* times(llvm::Value* value, llvm::Value* factor) {
    auto* known = llvm::dyn_cast<llvm::ConstantInt>(factor);
    return known ? times(value, known->getSExtValue()) : b.CreateMul(value, factor);
  }
  // Of signed numbers; constants stay constants.
  llvm::Value* smaller(llvm::Value* x, llvm::Value* y) { return b.CreateSelect(b.CreateICmpSLT(x, y), x, y); }
  llvm::Value* larger(llvm::Value* x, llvm::Value* y) { return b.CreateSelect(b.CreateICmpSGT(x, y), x, y); }
  llvm::Value* load(llvm::Type* type, llvm::Value* pointer, int alignment = 1);
  void store(llvm::Value* value, llvm::Value* pointer, int alignment = 1);
  void prefetch(llvm::Value* pointer);           // the line into the second-level cache, to be read; any address
  void prefetch_to_write(llvm::Value* pointer);  // into the first
  llvm::Value* as(llvm::Value* value, llvm::Type* type) { return b.CreateBitCast(value, type); }
  llvm::Value* splat(llvm::Value* scalar) { return b.CreateVectorSplat(static_cast<unsigned>(lanes), scalar); }
  llvm::Value* call(llvm::Intrinsic::ID id, std::span<llvm::Type* const> overloads,
                    std::span<llvm::Value* const> arguments);
  llvm::Value* fma(llvm::Value* x, llvm::Value* y, llvm::Value* z);

  // Lanes in use. A null mask means all.
  llvm::Value* tail_mask(llvm::Value* count);  // lane < count
  llvm::Value* masked_load(llvm::Type* type, llvm::Value* pointer,
                           llvm::Value* mask);  // idle lanes read 0; nothing behind is touched
  void masked_store(llvm::Value* value, llvm::Value* pointer, llvm::Value* mask);

  // `lanes` elements of `dtype` at `pointer` as their compute scalar (f16, bf16 -> f32; i8, i16 -> i32; …; boolean ->
  // i1), and back with the rounding of base/float_bits.h; integers wrap. `strided`: elements `byte_stride` (an i64)
  // apart, else next to each other.
  llvm::Value* load_elements(DType dtype, llvm::Value* pointer, llvm::Value* mask = nullptr);
  llvm::Value* load_strided(DType dtype, llvm::Value* pointer, llvm::Value* byte_stride, llvm::Value* mask = nullptr);
  llvm::Value* load_broadcast(DType dtype, llvm::Value* pointer);  // one element in every lane
  void store_elements(llvm::Value* value, DType dtype, llvm::Value* pointer, llvm::Value* mask = nullptr);
  llvm::Value* widen(DType dtype, llvm::Value* raw);     // stored bits (any vector length) -> compute scalar
  llvm::Value* narrow(DType dtype, llvm::Value* value);  // and back
  llvm::Type* scalar_type(Scalar type) const;            // f32 … i64, i1 for boolean
  llvm::Type* memory_type(DType dtype) const;            // of one stored element

  // Loops. `loop` counts from lo to hi (i64) by `step`, carrying values; body(index, carried) returns the next ones.
  // With `at_least_once` the guard is left out. `walk` also advances byte pointers (strength reduction by hand, since
  // LLVM's is switched off): body(pointers, carried).
  template <class Body>
  Values loop(llvm::Value* lo, llvm::Value* hi, int64_t step, Values carried, Body body, bool at_least_once = false);
  struct Moving {
    Moving(llvm::Value* from, int64_t bytes) : pointer(from), step(bytes) {}
    Moving(llvm::Value* from, llvm::Value* bytes) : pointer(from), known_when_called(bytes) {}
    llvm::Value* pointer;
    int64_t step = 0;
    llvm::Value* known_when_called = nullptr;
  };
  template <class Body>
  Values walk(llvm::Value* count, std::span<const Moving> pointers, Values carried, Body body,
              bool at_least_once = false);
  template <class Then>
  void when(llvm::Value* condition, Then then);  // if (condition) then();

  // bf16 pairs: one 32-bit lane holds two consecutive k (low half first), as VNNI and vdpbf16ps want them.
  std::pair<llvm::Value*, llvm::Value*> split_pair(llvm::Value* pair);      // f32 of the low and the high halves, exact
  llvm::Value* join_pair(llvm::Value* low, llvm::Value* high);              // inverse, for values that are exactly bf16
  llvm::Value* join_pair_rounded(llvm::Value* low, llvm::Value* high);      // round to nearest even; finite values
  llvm::Value* dot_bf16(llvm::Value* acc, llvm::Value* x, llvm::Value* y);  // acc + x.low*y.low + x.high*y.high
  // Integers, exact: four bytes of each lane, of `x` without sign, of `y` with; or two words with sign. Sums wrap.
  llvm::Value* dot_bytes(llvm::Value* acc, llvm::Value* x, llvm::Value* y);
  llvm::Value* dot_words(llvm::Value* acc, llvm::Value* x, llvm::Value* y);
  std::pair<llvm::Value*, llvm::Value*> split_bytes(llvm::Value* x, bool is_signed);  // even and odd ones, as words
  // words[i] = table[index[i] mod 2^bits], bits <= 6 (AVX2: 4), over 2*lanes 16-bit indices; garbage above `bits` is
  // ignored.
  llvm::Value* lookup_words(llvm::Value* index, int bits, std::span<const uint16_t> table);
  llvm::Value* permute(llvm::Value* x, llvm::Value* index);  // x[index[i]] of 32-bit lanes; index below `lanes`
  // result[i] = table[index[i]], index an i32 vector below table.size() (a power of two): permutes up to 256 entries
  // (AVX2: 64), else a gather.
  llvm::Value* lookup_f32(llvm::Value* index, std::span<const float> table);
  // The same of a vector of 64 bytes, in a table of up to 256 (up to 128: the highest bit is ignored), by permutes of
  // bytes, which the CPU must have (vbmi).
  llvm::Value* lookup_bytes(llvm::Value* index, std::span<const uint8_t> table);

  // Sums, maxima and minima over the lanes in a fixed tree: halves are combined until one element is left.
  template <class Combine>
  llvm::Value* reduce(llvm::Value* vector, Combine combine);
};

}  // namespace hone

#include "device/x86/emit_loops.h"
