// Values from register to register, whole and in parts.
#include "tests/support/ptx/lanewise.h"

namespace hone::ptx {
namespace {

struct Same {
  template <class T>
  T operator()(T v) const {
    return v;
  }
};

void move_predicate(Warp& warp, const Code& code, Lanes mask) {
  const Operand* operands = warp.operands(code);
  warp.write_predicate(operands[0], warp.predicate(operands[1], code.choice[0]), mask);
}

// Parts of 8, 16 or 32 bits into one register, the first lowest; choice: parts, their bits.
void pack(Warp& warp, const Code& code, Lanes mask) {
  const Operand* operands = warp.operands(code);
  const int bits = code.choice[1];
  const uint64_t part = (uint64_t{1} << bits) - 1;  // a register may hold more
  for_lanes(mask, [&](int lane) {
    uint64_t whole = 0;
    for (int i = 0; i < code.choice[0]; ++i) whole |= (warp.value(operands[1 + i], lane) & part) << (bits * i);
    warp.set_value(operands[0], lane, whole);
  });
}
void unpack(Warp& warp, const Code& code, Lanes mask) {
  const Operand* operands = warp.operands(code);
  const int n = code.choice[0], bits = code.choice[1];
  for_lanes(mask, [&](int lane) {
    const uint64_t whole = warp.value(operands[n], lane);
    for (int i = 0; i < n; ++i) warp.set_value(operands[i], lane, whole >> (bits * i) & ((uint64_t{1} << bits) - 1));
  });
}

void decode_parts(Decoder& d, Type type, size_t group) {
  const size_t n = d.argument(group).parts.size();
  if ((n != 2 && n != 4) || type.bits / static_cast<int>(n) < 8) d.refuse("{} parts of {} bits", n, type.bits);
  const int bits = type.bits / static_cast<int>(n);
  d.code.choice = {static_cast<uint8_t>(n), static_cast<uint8_t>(bits)};
  if (group == 0)
    for (const Argument& part : d.group(0, n)) d.write(part, bits);
  else d.write(0, type.bits);
  if (group == 1)
    for (const Argument& part : d.group(1, n)) d.read(part, bits);
  else d.read(1, type.bits);
  d.finish(group == 0 ? unpack : pack);
}

void decode_mov(Decoder& d) {
  const Type type = d.type();
  d.expect(2);
  d.code.carries_bits = true;
  if (type.kind == Type::Kind::predicate) {
    d.write(0, 1);
    d.read(1, 1);
    d.code.choice[0] = d.negated(1);
    return d.finish(move_predicate);
  }
  if (type.bits < 16 || type.lanes != 1 || type.kind == Type::Kind::tf) d.refuse_type(type);
  for (const size_t i : {0, 1})
    if (d.argument(i).is == Argument::Is::group) return decode_parts(d, type, i);
  d.write(0, type.bits);
  d.read(1, type.bits);
  d.finish(type.bits == 64 ? lanewise<Same, uint64_t, uint64_t> : lanewise<Same, uint32_t, uint32_t>);
}

template <class T>
void select(Warp& warp, const Code& code, Lanes mask) {
  const Operand* operands = warp.operands(code);
  Element<T>* out = elements<T>(warp, operands[0]);
  const Element<T>*a = elements<T>(warp, operands[1]), *b = elements<T>(warp, operands[2]);
  const Lanes first = warp.predicate(operands[3], code.choice[0]);
  for_lanes(mask, [&](int lane) { out[lane] = first >> lane & 1 ? a[lane] : b[lane]; });
}
void decode_selp(Decoder& d) {
  const Type type = d.type();
  if (type.bits < 16 || type.lanes != 1 || type.kind == Type::Kind::tf) d.refuse_type(type);
  d.expect(4);
  d.write(0, type.bits);
  d.read(1, type.bits);
  d.read(2, type.bits);
  d.read(3, 1);
  d.code.choice[0] = d.negated(3);
  d.finish(type.bits == 64 ? select<uint64_t> : select<uint32_t>);
}

// Bytes of b:a by the four selectors of c; a selector's top bit spreads the byte's sign.
struct Permute {
  uint32_t operator()(uint32_t a, uint32_t b, uint32_t c) const {
    const uint64_t both = uint64_t{b} << 32 | a;
    uint32_t out = 0;
    for (int i = 0; i < 4; ++i) {
      const uint32_t how = c >> (4 * i) & 15, byte = static_cast<uint32_t>(both >> (8 * (how & 7))) & 255;
      out |= (how & 8 ? (byte & 128 ? 255u : 0u) : byte) << (8 * i);
    }
    return out;
  }
};
void decode_prmt(Decoder& d) {
  const Type type = d.type();
  if (type.bits != 32) d.refuse_type(type);
  operands_of(d, 3, 32);
  d.code.carries_bits = true;
  d.finish(lanewise_of<Permute, 3, uint32_t>());
}

constexpr Opcode kOpcodes[] = {{"mov", decode_mov}, {"selp", decode_selp}, {"prmt", decode_prmt}};

}  // namespace

std::span<const Opcode> move_opcodes() { return kOpcodes; }

}  // namespace hone::ptx
