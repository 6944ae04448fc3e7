// What this machine can reach, measured by measure/ and handed to the profiler, which shows each step as a fraction of
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace hone {

// What multiplies: whose peak a step is measured by. int16: codes as words, by vpmaddwd.
enum class ProductUnit : uint8_t { f32, bf16, int16, int8, bf16_tiles, int8_tiles };
constexpr bool is_integer(ProductUnit unit) {
  return unit == ProductUnit::int16 || unit == ProductUnit::int8 || unit == ProductUnit::int8_tiles;
}

// A loop of independent multiply-adds in registers, and the operations (FLOP) of one step.
struct ArithmeticLoop {
  void (*run)(int64_t steps) = nullptr;  // null: there is no such instruction
  double flop_per_step = 0;
};

// Of one thread. Zero, or empty, means not measured or no such instruction.
struct MachinePeaks {
  struct Read {
    int64_t bytes = 0;  // of a range that is read again and again
    double gbytes = 0;  // per second
  };
  double f32_gflops = 0;         // fused multiply-adds, two FLOP each
  double bf16_gflops = 0;        // vdpbf16ps
  double int8_gops = 0;          // vpdpbusd, a multiplication and an addition are two
  double bf16_tile_gflops = 0;   // tdpbf16ps, operands loaded from the first-level cache for every other product
  double int8_tile_gops = 0;     // tdpbusd, likewise
  std::vector<Read> reads = {};  // by size, ascending: from the first-level cache to main memory
  double fork_join_us = 0;       // a parallel region of two threads that does nothing

  // Of such products; of f32 where no peak of theirs is known.
  double gflops(ProductUnit unit) const {
    const double rates[] = {f32_gflops, bf16_gflops,      2 * f32_gflops,  // two words a lane, as often
                            int8_gops,  bf16_tile_gflops, int8_tile_gops};
    const double rate = rates[static_cast<size_t>(unit)];
    return rate > 0 ? rate : f32_gflops;
  }

  // GB/s that reading `bytes` over and over can't exceed: the rate of the largest measured range that is no larger.
  double read_gbytes(double bytes) const {
    double rate = reads.empty() ? 0 : reads.front().gbytes;
    for (const Read& read : reads)
      if (static_cast<double>(read.bytes) <= bytes) rate = read.gbytes;
    return rate;
  }
};

}  // namespace hone
