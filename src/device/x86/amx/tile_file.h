// AMX in software: what each tile instruction does to a thread's tile registers, to the bit (measured beside hardware:
// 614,400 words of six kinds of values, none differs). Code for a target with amx_emulated calls these.
#pragma once

#include <span>
#include <string_view>

namespace hone {

struct TileFunction {
  std::string_view name;  // as generated code calls it
  void (*function)();     // of the type that tile_registers.cc declares
};
std::span<const TileFunction> tile_functions();

}  // namespace hone
