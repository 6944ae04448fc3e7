// The emitter of code for x86 CPUs: their products, permutes and lookups beside what all machines share.
//
// Vectors fill a register: 16 elements of 32 bits with AVX-512, else 8.
#pragma once

#include <span>
#include <utility>

#include "device/llvm/emitter.h"
#include "device/x86/target.h"

namespace hone {

class X86Emitter : public Emitter {
 public:
  X86Emitter(llvm::Module& module, const X86Target& target);

  X86Target target;
  const bool avx512, bf16, vbmi;  // AVX-512 F/BW/VL/DQ; its BF16 dot products; its byte permutes
  int registers() const { return target.registers(); }

  llvm::Value* nearest(llvm::Value* x) override;
  llvm::Value* scale_by_power(llvm::Value* value, llvm::Value* n) override;
  llvm::Value* fraction(llvm::Value* x) override;
  // By permutes up to 256 entries (AVX2: 64), else by a gather.
  llvm::Value* lookup_f32(llvm::Value* index, std::span<const float> table) override;
  int cheap_table() const override { return avx512 ? 32 : 8; }  // two registers that one permute reads; one register
  llvm::Value* lookup_low_bytes(llvm::Value* index, std::span<const uint8_t> table) override;

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
  // result[i] = table[index[i]] of vectors of 64 bytes, in a table of up to 256 (up to 128: the highest bit is
  // ignored), by permutes of bytes, which the CPU must have (vbmi).
  llvm::Value* lookup_bytes(llvm::Value* index, std::span<const uint8_t> table);

 protected:
  void describe_machine(llvm::Function& function) override;
};

}  // namespace hone
