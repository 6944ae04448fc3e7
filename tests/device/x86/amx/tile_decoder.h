// Tile instructions as a processor reads them, and what it refuses: VEX.128.0F38.W0, a prefix and an opcode that say
// which, ModRM, SIB where tiles lie in memory, and a displacement.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "device/x86/amx/tile_registers.h"

namespace hone::test {

struct TileInstruction {
  enum class Kind : uint8_t {
    configure,            // ldtilecfg
    store_configuration,  // sttilecfg
    release,              // tilerelease
    zero,                 // tilezero
    load,                 // tileloadd, tileloaddt1
    store,                // tilestored
    dot_bf16,             // tdpbf16ps
    dot_i8_i8,            // tdpbssd
    dot_i8_u8,            // tdpbsud
    dot_u8_i8,            // tdpbusd
    dot_u8_u8             // tdpbuud
  };
  Kind kind = Kind::release;
  int length = 0;           // bytes
  int c = 0, a = 0, b = 0;  // tiles; c: the only one of others than products
  int64_t address = 0, stride = 0;

  bool multiplies() const { return kind >= Kind::dot_bf16; }
  bool operator==(const TileInstruction&) const = default;
};
std::string to_string(TileInstruction::Kind kind);

// rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8 to r15: as instructions number them.
using GeneralRegisters = std::array<int64_t, 16>;

// None where the bytes are none of these instructions.
std::optional<TileInstruction> decode_tile_instruction(const uint8_t* at, const GeneralRegisters& registers);

// Why a processor would refuse it, "" where it would not: a configuration by itself, and others with the one there is
// (palette 0: none). What is legal but of no use in code of ours counts as refused: to start at another row than the
// first, and tiles that have rows without columns.
std::string configuration_fault(const TileConfig& config);
std::string instruction_fault(const TileInstruction& instruction, const TileConfig& config);

}  // namespace hone::test
