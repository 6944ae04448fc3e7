// The instruction loops behind measure_peaks() and busy_loop() of a CPU: written in assembly, so that they mean the
// same at any optimisation level. Each level's loop runs only where cpu_features() allows it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/cpu.h"
#include "base/peaks.h"

namespace hone {

ArithmeticLoop f32_loop(Features cpu);
ArithmeticLoop bf16_loop(Features cpu);
ArithmeticLoop int8_loop(Features cpu);
ArithmeticLoop bf16_tile_loop(Features cpu);
ArithmeticLoop int8_tile_loop(Features cpu);

// Loads every byte of a 64-byte aligned range whose size is a multiple of 512.
using ReadLoop = void (*)(const std::byte* data, size_t bytes);
ReadLoop read_loop(Features cpu);

}  // namespace hone
