// Runs the machine code of a CPU with AMX on one without: there a tile instruction raises SIGILL, whose handler reads
// the instruction, holds it against what a processor would refuse, has the software do it (device/x86/amx/tile_file.h)
// and goes on behind it. On a CPU that has AMX, and a system that lets the process use it, nothing is trapped: what
// runs is the hardware, which then is compared with the software.
#pragma once

#include <cstdint>
#include <string>

#include "device/x86/target.h"

namespace hone::test {

// One at a time; whoever handled SIGILL before gets it where it is of no tile instruction, and again afterwards.
// A trap takes about a microsecond. The handler allocates memory for a fault's text: it is only for signals of
// generated code, which holds no locks.
class TrappedTiles {
 public:
  TrappedTiles();
  ~TrappedTiles();
  TrappedTiles(const TrappedTiles&) = delete;
  TrappedTiles& operator=(const TrappedTiles&) = delete;

  enum class By : uint8_t { software, hardware, neither };  // neither: a CPU whose tiles the system withholds
  By by() const { return by_; }
  int64_t trapped() const;    // instructions, of all threads
  std::string fault() const;  // of the first that a processor would refuse; "" where there was none
  void forget_fault();
  bool in_use() const;  // whether this thread has tiles configured

 private:
  By by_ = By::neither;
};

// This CPU with the tiles of AMX, and with their emulation, and otherwise alike: code of the first runs here only where
// tiles are trapped or there are some. Both need AVX-512.
X86Target target_with_tiles();
X86Target target_with_emulated_tiles();

}  // namespace hone::test
