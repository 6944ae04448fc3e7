// PTX as the interpreter runs it: each instruction decoded once into a function and the places of its operands, so that
// the loop over instructions looks nothing up. What the interpreter does not know is refused here, by its line.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/ptx/fault.h"

namespace hone::ptx {

constexpr int kLanes = 32;
using Lanes = uint32_t;  // a bit a lane of a warp
constexpr Lanes kAllLanes = ~Lanes{0};

struct Code;
struct Warp;
using Handler = void (*)(Warp&, const Code&, Lanes);

// Registers of up to 32 bits lie in one array of words, 32 lanes side by side; those of 64 bits in another; a predicate
// is one word, a bit a lane. Immediates and special registers are registers that are set when a warp starts.
enum class RegisterFile : uint8_t { words, wide, predicate };
struct Operand {
  uint32_t at = 0;  // first element in its file
  uint32_t id = 0;  // of the register, for what is known of it
  RegisterFile file = RegisterFile::words;
};

enum class Space : uint8_t { generic, global, shared, local, param, constant };

// What an instruction does to the order of instructions, and which lanes of its warp it needs.
enum class Flow : uint8_t {
  next,
  branch,
  exit,
  barrier,     // of the block
  whole_warp,  // all 32 lanes at once
  members,     // the lanes of the mask that its last operand holds
};

enum class Rounding : uint8_t { nearest_even, zero, down, up, nearest_away };

struct Code {
  Handler run = nullptr;
  uint32_t operands = 0;               // the first, in Kernel::operands
  uint32_t reads = 0, read_count = 0;  // registers, in Kernel::ids
  uint32_t writes = 0, write_count = 0;
  uint32_t target = 0;  // of a branch: the index of an instruction
  int64_t offset = 0;   // added to an address
  Operand guard{};
  bool guarded = false, unless = false;
  bool carries_bits = false;  // bits that nothing set may be among what it reads: they are followed to where they go
  Flow flow = Flow::next;
  Space space = Space::global;
  Rounding rounding = Rounding::nearest_even;
  bool flush = false, saturate = false;  // subnormals become zeros; results are clamped
  std::array<uint8_t, 4> choice{};       // what the handler distinguishes
  uint16_t name = 0;                     // in Kernel::names
  int line = 0;
};

enum class Special : uint8_t {
  tid_x,
  tid_y,
  tid_z,
  ntid_x,
  ntid_y,
  ntid_z,
  ctaid_x,
  ctaid_y,
  ctaid_z,
  nctaid_x,
  nctaid_y,
  nctaid_z,
  laneid,
  warpid,
  nwarpid,
  lanemask_eq,
  lanemask_lt,
  lanemask_le,
  lanemask_gt,
  lanemask_ge,
};

struct Kernel {
  std::string name;
  std::vector<Code> code;
  std::vector<Operand> operands;
  std::vector<uint32_t> ids;
  std::vector<std::string> names;      // spellings: "mma.sync.aligned.m16n8k16…"
  std::vector<std::string> registers;  // by id
  struct Constant {
    Operand operand;
    uint64_t value;
  };
  std::vector<Constant> constants;
  struct FromLaunch {
    Operand operand;
    Special special;
  };
  std::vector<FromLaunch> specials;
  uint32_t words = 0, wide = 0, predicates = 0;  // elements of each file
  struct Parameter {
    int64_t offset, bytes;
  };
  std::vector<Parameter> parameters;
  int64_t param_bytes = 0, shared_bytes = 0, local_bytes = 0;  // shared: without what a launch adds
  int64_t max_threads = 1024;
  int64_t least_blocks = 0;   // .minnctapersm; 0: not said
  int general_registers = 0;  // of 32 bits, all that the text names: no compiler has allocated them
};

// Where each space begins. An address of shared, local, parameter or constant memory counts from here; as a generic
// address it lies in a window far above every buffer.
constexpr uint64_t kSpaceBase = 0x400;
constexpr uint64_t kDynamicShared = kSpaceBase + (1 << 20);  // what a launch adds to a kernel's shared memory
constexpr uint64_t generic_window(Space space) { return (uint64_t{0x40} | static_cast<uint64_t>(space)) << 56; }

struct Module {
  std::string target;  // "sm_80"
  int version = 0;     // 78 is PTX 7.8
  std::vector<Kernel> kernels;
  std::vector<std::byte> constants;  // .const, and .global variables, which kernels only read
  const Kernel* find(std::string_view name) const;
};

// Throws Error "line N: …" of what is no PTX and of what the interpreter does not know.
Module parse(std::string_view text);

}  // namespace hone::ptx
