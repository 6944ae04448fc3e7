// cvt: any number to any other. Integers extend and cut bits; floats round once; from float to integer what lies
// outside is the nearer end, and NaN is zero.
#include "tests/support/ptx/lanewise.h"

namespace hone::ptx {
namespace {

using Kind = Type::Kind;

// Integers: the source cut to its bits and extended, the result cut to its own. choice: source bits, has a sign; result
// bits, has a sign.
template <class In, class Out>
void convert_integers(Warp& warp, const Code& code, Lanes mask) {
  const Operand* operands = warp.operands(code);
  const Element<In>* in = elements<In>(warp, operands[1]);
  Element<Out>* out = elements<Out>(warp, operands[0]);
  const int from = 64 - code.choice[0], to = 64 - code.choice[2];
  const uint64_t kept = ~uint64_t{0} >> to;
  const bool extends = code.choice[1] != 0;
  for_lanes(mask, [&](int lane) {
    const uint64_t up = uint64_t{in[lane]} << from;
    uint64_t v = extends ? static_cast<uint64_t>(static_cast<int64_t>(up) >> from) : up >> from;
    // A wider register holds the result extended by its own sign.
    if (code.choice[3]) v = static_cast<uint64_t>(static_cast<int64_t>(v << to) >> to);
    else v &= kept;
    out[lane] = static_cast<Element<Out>>(v);
  });
}

double read_float(uint64_t bits, uint8_t kind) {
  switch (kind) {
    case 16:
      return wide(Half{static_cast<uint16_t>(bits)});
    case 17:
      return wide(Bfloat{static_cast<uint16_t>(bits)});
    case 32:
      return std::bit_cast<float>(static_cast<uint32_t>(bits));
    default:
      return std::bit_cast<double>(bits);
  }
}
uint8_t float_kind(Type type) { return static_cast<uint8_t>(type.bits + (type.kind == Kind::bf)); }

uint64_t write_float(double v, uint8_t kind, const Code& code) {
  if (code.saturate) v = v > 0 ? std::fmin(v, 1.0) : 0.0;
  switch (kind) {
    case 16:
      return rounded<Half>(v, code.rounding).bits;
    case 17:
      return rounded<Bfloat>(v, code.rounding).bits;
    case 32: {
      const auto f = rounded<float>(v, code.rounding);
      return std::bit_cast<uint32_t>(code.flush ? flushed(f) : f);
    }
    default:
      return std::bit_cast<uint64_t>(v);
  }
}

// choice: kinds of source and result; whether to round to an integer first.
void convert_floats(Warp& warp, const Code& code, Lanes mask) {
  const Operand* operands = warp.operands(code);
  for_lanes(mask, [&](int lane) {
    double v = read_float(warp.value(operands[1], lane), code.choice[0]);
    if (code.flush && code.choice[0] == 32) v = flushed(static_cast<float>(v));
    if (code.choice[2]) v = integral(v, code.rounding);
    warp.set_value(operands[0], lane, write_float(v, code.choice[1], code));
  });
}

// choice: kind of source; bits of the result, whether it has a sign.
void convert_to_integer(Warp& warp, const Code& code, Lanes mask) {
  const Operand* operands = warp.operands(code);
  const int bits = code.choice[1];
  const bool has_sign = code.choice[2];
  const double least = has_sign ? -std::ldexp(1.0, bits - 1) : 0, beyond = std::ldexp(1.0, has_sign ? bits - 1 : bits);
  const uint64_t kept = ~uint64_t{0} >> (64 - bits), largest = has_sign ? kept >> 1 : kept;
  for_lanes(mask, [&](int lane) {
    double v = read_float(warp.value(operands[1], lane), code.choice[0]);
    if (code.flush) v = flushed(static_cast<float>(v));
    v = integral(v, code.rounding);
    uint64_t out = 0;
    if (v >= beyond) out = largest;
    else if (v <= least) out = has_sign ? largest + 1 : 0;
    else if (v < 0) out = static_cast<uint64_t>(static_cast<int64_t>(v));
    else if (v > 0) out = static_cast<uint64_t>(v);
    warp.set_value(operands[0], lane, has_sign && v < 0 ? out | ~kept : out & kept);
  });
}

// choice: bits of the source, whether it has a sign; kind of the result.
void convert_from_integer(Warp& warp, const Code& code, Lanes mask) {
  const Operand* operands = warp.operands(code);
  const int shift = 64 - code.choice[0];
  for_lanes(mask, [&](int lane) {
    const uint64_t up = warp.value(operands[1], lane) << shift;
    const int64_t extended = static_cast<int64_t>(up) >> shift;
    const bool negative = code.choice[1] && extended < 0;
    const uint64_t magnitude = negative ? -static_cast<uint64_t>(extended) : up >> shift;
    // In two exact halves, so that f64 holds the sum to odd.
    const double high = std::ldexp(static_cast<double>(magnitude >> 32), 32);
    const auto low = static_cast<double>(magnitude & 0xffffffff);
    const double v = code.choice[2] == 64 ? high + low : odd_sum(high, low);
    warp.set_value(operands[0], lane, write_float(negative ? -v : v, code.choice[2], code));
  });
}

// cvt.rn.bf16x2.f32 d, high, low; choice: .relu, which makes negative numbers zeros.
template <class T>
struct ToPair {
  Pair<T> operator()(const Code& code, float high, float low) const { return {one(code, low), one(code, high)}; }
  static T one(const Code& code, float v) {
    if (code.choice[0] && v <= 0) v = 0;
    if (code.rounding == Rounding::zero) return rounded<T>(v, Rounding::zero);
    if constexpr (std::is_same_v<T, Bfloat>) return nearest_bfloat(v);
    else return nearest_half(v);
  }
};
struct FromHalf {
  float operator()(Half v) const { return canonical(wide_half(v.bits)); }
};
struct FromBfloat {
  float operator()(Bfloat v) const { return canonical(bf16_to_f32(v.bits)); }
};
struct ToTf32 {  // 10 bits of mantissa
  uint32_t operator()(const Code&, float v) const {
    if (v != v) return 0x7fffffff;
    return (std::bit_cast<uint32_t>(v) + 0x1000u) & ~0x1fffu;  // to nearest, ties away
  }
};

void decode_pair(Decoder& d, Type to, bool relu) {
  const Type from = d.type();
  if (!from.is(Kind::f, 32)) d.refuse_type(from);
  if (d.code.rounding != Rounding::nearest_even && d.code.rounding != Rounding::zero) d.refuse(".rn or .rz is missing");
  d.code.choice[0] = relu;
  operands_of(d, 2, 32);
  d.finish(to.kind == Kind::bf ? lanewise<ToPair<Bfloat>, Pair<Bfloat>, float, float>
                               : lanewise<ToPair<Half>, Pair<Half>, float, float>);
}

void decode_integers(Decoder& d, Type to, Type from) {
  d.code.choice = {static_cast<uint8_t>(from.bits), from.kind == Kind::s, static_cast<uint8_t>(to.bits),
                   to.kind == Kind::s};
  if (d.code.saturate) d.refuse(".sat between integers");
  const bool wide_out = d.write_any(d.argument(0), to.bits) == RegisterFile::wide;
  const bool wide_in = d.read_any(d.argument(1), from.bits) == RegisterFile::wide;
  d.finish(wide_in ? (wide_out ? convert_integers<uint64_t, uint64_t> : convert_integers<uint64_t, uint32_t>)
                   : (wide_out ? convert_integers<uint32_t, uint64_t> : convert_integers<uint32_t, uint32_t>));
}

// .rni .rzi .rmi .rpi: to an integer.
bool take_integral(Decoder& d) {
  static constexpr std::pair<std::string_view, Rounding> kRoundings[] = {
      {"rni", Rounding::nearest_even}, {"rzi", Rounding::zero}, {"rmi", Rounding::down}, {"rpi", Rounding::up}};
  for (const auto& [word, rounding] : kRoundings)
    if (d.take(word)) return d.code.rounding = rounding, true;
  return false;
}

void decode_floats(Decoder& d, Type to, Type from, bool to_integral, bool rounds) {
  if (to.bits < from.bits && !rounds) d.refuse("a rounding is missing");
  d.code.choice = {float_kind(from), float_kind(to), to_integral};
  d.write(0, to.bits);
  d.read(1, from.bits);
  const bool plain = !d.code.flush && !d.code.saturate;
  if (plain && to.is(Kind::f, 32) && from.is(Kind::f, 16)) return d.finish(lanewise<FromHalf, float, Half>);
  if (plain && to.is(Kind::f, 32) && from.is(Kind::bf, 16)) return d.finish(lanewise<FromBfloat, float, Bfloat>);
  d.finish(convert_floats);
}

void decode_cvt(Decoder& d) {
  const bool to_integral = take_integral(d), rounds = to_integral || d.take_rounding();
  d.take_flush();
  const bool relu = d.take("relu");
  d.take_saturate();
  const Type to = d.type();
  d.expect(to.lanes == 2 ? 3 : 2);
  if (to.lanes == 2) return decode_pair(d, to, relu);
  const Type from = d.type();
  if (relu || from.lanes != 1 || from.kind == Kind::predicate || to.kind == Kind::predicate) d.refuse_type(from);
  if (to.kind == Kind::tf) {
    if (!from.is(Kind::f, 32) || d.code.rounding != Rounding::nearest_away) d.refuse("known as cvt.rna.tf32.f32");
    d.write(0, 32);
    d.read(1, 32);
    return d.finish(lanewise<ToTf32, uint32_t, float>);
  }
  if (from.bits < 8 || to.bits < 8 || from.kind == Kind::tf) d.refuse_type(from);
  d.code.carries_bits = to.is_integer() && from.is_integer();
  if (d.code.carries_bits) return decode_integers(d, to, from);
  if (to.is_float() && from.is_float()) return decode_floats(d, to, from, to_integral, rounds);
  if (!rounds || (to.is_integer() && !to_integral)) d.refuse("a rounding is missing");
  if (to.is_integer()) {
    d.code.choice = {float_kind(from), static_cast<uint8_t>(to.bits), to.kind == Kind::s};
    d.code.saturate = false;  // as it is anyway
    d.write_any(d.argument(0), to.bits);
    d.read(1, from.bits);
    return d.finish(convert_to_integer);
  }
  d.code.choice = {static_cast<uint8_t>(from.bits), from.kind == Kind::s, float_kind(to)};
  if (to_integral) d.refuse("from an integer it takes .rn, .rz, .rm or .rp");
  d.write(0, to.bits);
  d.read_any(d.argument(1), from.bits);
  d.finish(convert_from_integer);
}

constexpr Opcode kOpcodes[] = {{"cvt", decode_cvt}};

}  // namespace

std::span<const Opcode> conversion_opcodes() { return kOpcodes; }

}  // namespace hone::ptx
