// The vector emitter: LLVM IR with explicit vectors, and, as virtual functions, the handful of primitives in which
// machines differ.
//
// A module is emitted through one Emitter. A vector has `lanes` elements, of 32 bits or wider or narrower, so that
// one element program reads operands of every type. No fast-math flag is set: fused multiply-adds are asked for with
// fma().
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "device/args.h"
#include "expr/expr.h"
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
  Emitter(llvm::Module& module, int lanes);
  virtual ~Emitter() = default;

  llvm::LLVMContext& context;
  llvm::Module& module;
  llvm::IRBuilder<> b;
  const int lanes;
  llvm::Type *const f32, *const f64, *const i8, *const i16, *const i32, *const i64, *const ptr;
  llvm::Type *const v_f32, *const v_i32;  // `lanes` of each

  // Types and constants.
  llvm::Type* vec(llvm::Type* element, int count = 0) const;  // count 0: `lanes`
  llvm::Value* num(int64_t value) { return b.getInt64(static_cast<uint64_t>(value)); }
  llvm::Constant* c_f32(double value) const { return llvm::ConstantFP::get(v_f32, value); }  // splat over `lanes`
  llvm::Constant* c_i32(uint32_t value) const { return llvm::ConstantInt::get(v_i32, value); }
  llvm::Constant* words(std::span<const uint16_t> values) const;  // constant vectors
  llvm::Constant* bytes(std::span<const uint8_t> values) const;
  llvm::Constant* lane_numbers(llvm::Type* element) const;                         // 0, 1, 2, … lanes-1
  virtual llvm::GlobalVariable* table(llvm::Constant* value, int alignment = 64);  // a private constant in the module

  // Functions. A hot loop belongs in a function of its own, or loop-invariant constants of its surroundings are parked
  // in its registers; `local_function` makes one that is not inlined (all code generation is without IR passes).
  virtual KernelFrame begin_kernel(const std::string& symbol,
                                   bool external = true);  // leaves the builder in its entry block
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
  virtual llvm::Value* kernel_pointer(const KernelFrame& frame, int index);  // KernelArgs::pointers[index]
  llvm::Value* kernel_dim(const KernelFrame& frame, int index);              // KernelArgs::dims[index]
  llvm::Value* stack(llvm::Type* type, int64_t count, int alignment = 64);   // alloca in the entry block

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
  // Alignment 0: what values of the type have when nobody says more.
  llvm::Value* load(llvm::Type* type, llvm::Value* pointer, int alignment = 0);
  void store(llvm::Value* value, llvm::Value* pointer, int alignment = 0);
  virtual void prefetch(llvm::Value* pointer);  // the line into the second-level cache, to be read; any address
  virtual void prefetch_to_write(llvm::Value* pointer);  // into the first
  llvm::Value* as(llvm::Value* value, llvm::Type* type) { return b.CreateBitCast(value, type); }
  llvm::Value* splat(llvm::Value* scalar) { return b.CreateVectorSplat(static_cast<unsigned>(lanes), scalar); }
  llvm::Value* call(llvm::Intrinsic::ID id, std::span<llvm::Type* const> overloads,
                    std::span<llvm::Value* const> arguments);
  llvm::Value* fma(llvm::Value* x, llvm::Value* y, llvm::Value* z);

  // Lanes in use. A null mask means all.
  llvm::Value* tail_mask(llvm::Value* count);  // lane < count
  virtual llvm::Value* masked_load(llvm::Type* type, llvm::Value* pointer,
                                   llvm::Value* mask);  // idle lanes read 0; nothing behind is touched
  virtual void masked_store(llvm::Value* value, llvm::Value* pointer, llvm::Value* mask);

  // `lanes` elements of `dtype` at `pointer` as their compute scalar (f16, bf16 -> f32; i8, i16 -> i32; …; boolean ->
  // i1), and back with the rounding of base/float_bits.h; integers wrap. `strided`: elements `byte_stride` (an i64)
  // apart, else next to each other.
  llvm::Value* load_elements(DType dtype, llvm::Value* pointer, llvm::Value* mask = nullptr);
  virtual llvm::Value* load_strided(DType dtype, llvm::Value* pointer, llvm::Value* byte_stride,
                                    llvm::Value* mask = nullptr);
  llvm::Value* load_broadcast(DType dtype, llvm::Value* pointer);  // one element in every lane
  void store_elements(llvm::Value* value, DType dtype, llvm::Value* pointer, llvm::Value* mask = nullptr);
  llvm::Value* widen(DType dtype, llvm::Value* raw);             // stored bits (any vector length) -> compute scalar
  virtual llvm::Value* narrow(DType dtype, llvm::Value* value);  // and back
  llvm::Type* scalar_type(Scalar type) const;                    // f32 … i64, i1 for boolean
  llvm::Type* memory_type(DType dtype) const;                    // of one stored element

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
  template <class Then, class Else>
  Values choose(llvm::Value* condition, Then then, Else otherwise);  // what then() or otherwise() gives

  // Where machines differ.
  virtual llvm::Value* nearest(llvm::Value* x) = 0;  // i32 of f32: to even, 0 of NaN; |x| is far below 2^31
  // value * 2^n of f32, for integral n in [-252, 254], rounded once.
  virtual llvm::Value* scale_by_power(llvm::Value* value, llvm::Value* n);
  // x less the nearest integer, 0 of an infinity; null where it is no single instruction.
  virtual llvm::Value* fraction(llvm::Value*) { return nullptr; }
  // result[i] = table[index[i]], index an i32 vector whose value modulo table.size() (a power of two) counts, if
  // `table` has up to cheap_table() entries, else below it.
  virtual llvm::Value* lookup_f32(llvm::Value* index, std::span<const float> table) = 0;
  virtual int cheap_table() const = 0;  // entries that lookup_f32() finds in the time of one or two additions
  // Likewise of bytes, in the lowest byte of each lane; the others hold anything. Null where lookup_f32() is as fast.
  virtual llvm::Value* lookup_low_bytes(llvm::Value*, std::span<const uint8_t>) { return nullptr; }

  // sin or cos of f32 from 2^15 on, where more bits of pi are needed. Null: by the C library, lane by lane.
  virtual llvm::Value* far_sin_cos(ExprOp, llvm::Value*) { return nullptr; }
  // What code of the module needs beside CodeMachine::features, in LLVM's words.
  virtual std::string needed_features() const { return {}; }

  // Sums, maxima and minima over the lanes in a fixed tree: halves are combined until one element is left.
  template <class Combine>
  llvm::Value* reduce(llvm::Value* vector, Combine combine);

 protected:
  llvm::Value* gather_f32(llvm::Value* index, std::span<const float> table);  // from memory; index below table.size()
  virtual void describe_machine(llvm::Function&) {}                           // attributes of every function
  virtual int least_alignment(llvm::Type*) const { return 1; }
};

// Marks a function around those that work: registers spilled there cost little and are no reason for a smaller tile.
void allow_spills(llvm::Function* function);

// Marks a function that only calls those that work: its code is made in half the time and is not looked at closely.
void generate_quickly(llvm::Function* function);

}  // namespace hone

#include "device/llvm/emit_loops.h"
