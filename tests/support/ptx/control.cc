// Branches, ends, barriers and fences.
#include "tests/support/ptx/decoder.h"
#include "tests/support/ptx/warp.h"

namespace hone::ptx {
namespace {

void nothing(Warp&, const Code&, Lanes) {}  // the warp itself does it

void decode_bra(Decoder& d) {
  d.take("uni");
  d.code.flow = Flow::branch;
  d.finish(nothing);
}

void decode_end(Decoder& d) {
  d.take("uni");
  d.expect(0);
  d.code.flow = Flow::exit;
  d.finish(nothing);
}

// bar.sync a{, b}; bar.warp.sync members.
void decode_barrier(Decoder& d) {
  if (d.opcode() == "bar" && d.take("warp")) {
    if (!d.take("sync")) d.refuse(".sync is missing");
    d.expect(1);
    d.read(0, 32);
    d.code.flow = Flow::members;
    return d.finish(nothing);
  }
  d.take("cta");
  if (!d.take("sync")) d.refuse("known as .sync and .warp.sync");
  d.take("aligned");
  if (d.count() != 1) d.expect(2);
  for (size_t i = 0; i < d.count(); ++i) d.read(i, 32);
  d.code.flow = Flow::barrier;
  d.finish(nothing);
}

// Of one launch at a time, whose warps run by turns, memory is in order anyway.
void decode_fence(Decoder& d) {
  if (d.opcode() == "membar") {
    if (!d.take_any({"cta", "gl", "sys"})) d.refuse(".cta, .gl or .sys is missing");
  } else {
    d.take_any({"sc", "acq_rel"});
    if (!d.take_any({"cta", "cluster", "gpu", "sys"})) d.refuse("a scope is missing");
  }
  d.expect(0);
  d.finish(nothing);
}

void trap(Warp& warp, const Code& code, Lanes mask) { warp.fault(code, std::countr_zero(mask), "the kernel traps"); }
void decode_trap(Decoder& d) {
  d.expect(0);
  d.finish(trap);
}

constexpr Opcode kOpcodes[] = {{"bra", decode_bra},      {"ret", decode_end},         {"exit", decode_end},
                               {"bar", decode_barrier},  {"barrier", decode_barrier}, {"fence", decode_fence},
                               {"membar", decode_fence}, {"trap", decode_trap}};

}  // namespace

std::span<const Opcode> control_opcodes() { return kOpcodes; }

}  // namespace hone::ptx
