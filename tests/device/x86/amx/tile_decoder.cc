#include "tests/device/x86/amx/tile_decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>

namespace hone::test {
namespace {

using Kind = TileInstruction::Kind;

constexpr int kTiles = 8;

// The prefix that the last two bits of VEX stand for.
enum Prefix : uint8_t { kNone, k66, kF3, kF2 };

struct Form {
  uint8_t opcode;
  Prefix prefix;
  bool in_memory;
  Kind kind;
};
constexpr Form kForms[] = {
    {0x49, kNone, true, Kind::configure}, {0x49, k66, true, Kind::store_configuration},
    {0x49, kNone, false, Kind::release},  {0x49, kF2, false, Kind::zero},
    {0x4b, kF2, true, Kind::load},        {0x4b, k66, true, Kind::load},
    {0x4b, kF3, true, Kind::store},       {0x5c, kF3, false, Kind::dot_bf16},
    {0x5e, kF2, false, Kind::dot_i8_i8},  {0x5e, kF3, false, Kind::dot_i8_u8},
    {0x5e, k66, false, Kind::dot_u8_i8},  {0x5e, kNone, false, Kind::dot_u8_u8},
};

struct Memory {
  int64_t base = 0, index = 0;              // index: scaled; 0 where there is none
  int length = 0;                           // of ModRM, SIB and displacement
  bool has_sib = false, from_next = false;  // from_next: base is the instruction that follows
};

// `at`: ModRM. `x`, `b`: what VEX adds to the numbers of the index and of the base.
Memory memory_operand(const uint8_t* at, int x, int b, const GeneralRegisters& registers) {
  const int mod = at[0] >> 6, rm = at[0] & 7;
  Memory m{.length = 1, .has_sib = rm == 4};
  int base = rm;
  if (m.has_sib) {
    const int scale = at[1] >> 6, index = (at[1] >> 3 & 7) + x;
    base = at[1] & 7;
    if (index != 4) m.index = registers[static_cast<size_t>(index)] << scale;
    m.length = 2;
  }
  const bool no_base = mod == 0 && base == 5;
  m.from_next = no_base && !m.has_sib;
  if (!no_base) m.base = registers[static_cast<size_t>(base + b)];
  if (mod == 1) {
    m.base += static_cast<int8_t>(at[m.length]), m.length += 1;
  } else if (mod == 2 || no_base) {
    int32_t displacement;
    std::memcpy(&displacement, at + m.length, 4);
    m.base += displacement, m.length += 4;
  }
  return m;
}

}  // namespace

std::string to_string(Kind kind) {
  constexpr std::string_view kNames[] = {"ldtilecfg", "sttilecfg", "tilerelease", "tilezero", "tileloadd", "tilestored",
                                         "tdpbf16ps", "tdpbssd",   "tdpbsud",     "tdpbusd",  "tdpbuud"};
  return std::string(kNames[static_cast<size_t>(kind)]);
}

std::optional<TileInstruction> decode_tile_instruction(const uint8_t* at, const GeneralRegisters& registers) {
  constexpr int kVexBytes = 4;                                                           // and the opcode
  if (at[0] != 0xc4 || (at[1] & 0x1f) != 2 || (at[2] & 0x84) != 0) return std::nullopt;  // 0F38, 128 bits, W0
  const int r = at[1] & 0x80 ? 0 : 8, x = at[1] & 0x40 ? 0 : 8, b = at[1] & 0x20 ? 0 : 8, v = ~(at[2] >> 3) & 15;
  const int reg = (at[kVexBytes] >> 3 & 7) + r, rm = (at[kVexBytes] & 7) + b;
  const bool in_memory = at[kVexBytes] >> 6 != 3;
  const auto* form = std::ranges::find_if(
      kForms, [&](const Form& f) { return f.opcode == at[3] && f.prefix == (at[2] & 3) && f.in_memory == in_memory; });
  if (form == std::end(kForms)) return std::nullopt;
  TileInstruction found{.kind = form->kind, .length = kVexBytes + 1, .c = reg};
  if (reg >= kTiles) return std::nullopt;
  if (found.multiplies()) {
    if (rm >= kTiles || v >= kTiles) return std::nullopt;
    found.a = rm, found.b = v;
    return found;
  }
  if (v != 0) return std::nullopt;
  const bool names_no_tile = form->opcode == 0x49 && found.kind != Kind::zero;
  if ((names_no_tile && reg != 0) || (!in_memory && rm != 0)) return std::nullopt;
  if (!in_memory) return found;
  const Memory m = memory_operand(at + kVexBytes, x, b, registers);
  found.length = kVexBytes + m.length;
  found.address = m.base;
  if (m.from_next) found.address += reinterpret_cast<int64_t>(at) + found.length;
  if (names_no_tile) found.address += m.index;
  else found.stride = m.index;
  if (!names_no_tile && !m.has_sib) return std::nullopt;
  return found;
}

std::string configuration_fault(const TileConfig& config) {
  if (config.palette > 1) return fmt::format("palette {}", config.palette);
  if (config.palette == 0) return "";
  if (config.start_row != 0) return fmt::format("row {} to start at", config.start_row);
  if (std::ranges::any_of(config.reserved, [](uint8_t byte) { return byte != 0; })) return "a reserved byte is not 0";
  for (int t = 0; t < 16; ++t) {
    const int rows = config.rows[t], bytes = config.row_bytes[t];
    if (t >= kTiles && (rows || bytes)) return fmt::format("a size of tile {}", t);
    if (rows > TileConfig::kRows || bytes > TileConfig::kRowBytes || (rows == 0) != (bytes == 0))
      return fmt::format("tile {} of {} rows of {} bytes", t, rows, bytes);
  }
  return "";
}

std::string instruction_fault(const TileInstruction& i, const TileConfig& config) {
  if (i.kind == Kind::configure || i.kind == Kind::store_configuration || i.kind == Kind::release) return "";
  const std::string name = to_string(i.kind);
  if (config.palette == 0) return name + " without a configuration";
  const auto sizes = [&](int t) { return fmt::format("tile {} of {} x {}", t, config.rows[t], config.row_bytes[t]); };
  for (int t : {i.c, i.multiplies() ? i.a : i.c, i.multiplies() ? i.b : i.c})
    if (config.rows[t] == 0) return fmt::format("{} of {}, which is not configured", name, sizes(t));
  if (!i.multiplies()) return "";
  if (i.a == i.b || i.a == i.c || i.b == i.c) return fmt::format("{} of tiles {}, {}, {}", name, i.c, i.a, i.b);
  const auto& rows = config.rows;
  const auto& bytes = config.row_bytes;
  const bool fits = rows[i.c] == rows[i.a] && bytes[i.c] == bytes[i.b] && bytes[i.a] == 4 * rows[i.b];
  if (fits && bytes[i.a] % 4 == 0 && bytes[i.c] % 4 == 0) return "";
  return fmt::format("{} of {}, {}, {}", name, sizes(i.c), sizes(i.a), sizes(i.b));
}

}  // namespace hone::test
