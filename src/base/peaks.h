// What this machine can reach, measured by measure/ and handed to the profiler, which shows each step as a fraction of
// it.
#pragma once

namespace hone {

// One thread. Zero means not measured.
struct MachinePeaks {
  double f32_gflops = 0;   // fused multiply-adds, two FLOP each
  double bf16_gflops = 0;  // vdpbf16ps where present, else 0
  double read_gbytes = 0;  // from main memory
  double l2_read_gbytes = 0;
};

}  // namespace hone
