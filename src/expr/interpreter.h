// A program made ready to run many times: kernels chosen, registers assigned, constants laid out. interpret() prepares
// one and runs it once; keep an Interpreter where many short runs share a program.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "expr/kernels.h"
#include "expr/program.h"

namespace hone {

// Owns its registers: one object per thread.
class Interpreter {
 public:
  explicit Interpreter(const Program& program);

  // As interpret(). A result column may be an argument's column of the same element size and stride 1.
  void run(std::span<const ConstColumn> args, int64_t first_index, int64_t n, std::span<const MutableColumn> results);

 private:
  struct alignas(64) Register {
    std::byte bytes[kBlockElems * 8];
  };
  struct Step {
    Kernel kernel;
    int32_t instruction;
    const LookupTable* table;  // null unless a lookup
  };

  void check() const;
  void assign_registers();
  void fill(std::span<const ConstColumn> args, int64_t n);
  void load(std::span<const ConstColumn> args, int64_t first_index, int64_t begin, int64_t n);

  Program program_;
  std::vector<LookupTable> tables_;
  std::vector<Step> steps_;           // instructions that compute, in order
  std::vector<int32_t> register_of_;  // per instruction
  std::vector<const void*> at_;       // per instruction: where its values of this block are
  std::unique_ptr<Register[]> registers_;
  int64_t filled_ = 0;  // elements of the constants' registers that are valid
};

}  // namespace hone
