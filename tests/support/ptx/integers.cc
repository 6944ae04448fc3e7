// Bits of integers: logic, shifts, fields, counts; products of packed bytes.
#include "tests/support/ptx/lanewise.h"

namespace hone::ptx {
namespace {

using Kind = Type::Kind;

template <class F>
void logic_of_predicates(Warp& warp, const Code& code, Lanes mask) {
  const Operand* operands = warp.operands(code);
  const Lanes a = warp.predicate(operands[1], code.choice[0]);
  const Lanes b = code.read_count > 1 ? warp.predicate(operands[2], code.choice[1]) : 0;
  warp.write_predicate(operands[0], F{}(a, b), mask);
}

struct And {
  template <class T>
  T operator()(T a, T b) const {
    return a & b;
  }
};
struct Or {
  template <class T>
  T operator()(T a, T b) const {
    return a | b;
  }
};
struct Xor {
  template <class T>
  T operator()(T a, T b) const {
    return a ^ b;
  }
};
struct Not {
  template <class T>
  T operator()(T a) const {
    return static_cast<T>(~a);
  }
  Lanes operator()(Lanes a, Lanes) const { return ~a; }
};

template <class F, int N>
void decode_logic(Decoder& d) {
  const Type type = d.type();
  if (type.kind == Kind::predicate) {
    operands_of(d, N, 1);
    for (size_t i = 0; i < N; ++i) d.code.choice[i] = d.negated(i + 1);
    return d.finish(logic_of_predicates<F>);
  }
  const Handler handler = type.kind == Kind::b && type.lanes == 1 ? of_unsigned<F, N>(type) : nullptr;
  if (!handler) d.refuse_type(type);
  operands_of(d, N, type.bits);
  d.code.carries_bits = true;
  d.finish(handler);
}

// By 32 bits of b; beyond the width nothing is left, or the sign.
struct ShiftLeft {
  template <class T>
  T operator()(T a, uint32_t by) const {
    return by < 8 * sizeof(T) ? static_cast<T>(uint64_t{a} << by) : T{0};
  }
};
struct ShiftRight {
  template <class T>
  T operator()(T a, uint32_t by) const {
    const uint32_t most = 8 * sizeof(T) - 1;
    if constexpr (std::is_signed_v<T>) return static_cast<T>(a >> std::min(by, most));
    else return by > most ? T{0} : static_cast<T>(a >> by);
  }
};
template <class F, class T>
constexpr Handler shift = lanewise<F, T, T, uint32_t>;

void decode_shift(Decoder& d, bool left) {
  const Type type = d.type();
  if (!type.is_integer() || type.bits < 16 || (left && type.kind != Kind::b)) d.refuse_type(type);
  d.expect(3);
  d.write(0, type.bits);
  d.read(1, type.bits);
  d.read(2, 32);
  d.code.carries_bits = true;
  const size_t size = type.bits == 16 ? 0 : type.bits == 32 ? 1 : 2;
  const Handler lefts[] = {shift<ShiftLeft, uint16_t>, shift<ShiftLeft, uint32_t>, shift<ShiftLeft, uint64_t>};
  const Handler rights[] = {shift<ShiftRight, uint16_t>, shift<ShiftRight, uint32_t>, shift<ShiftRight, uint64_t>};
  const Handler signs[] = {shift<ShiftRight, int16_t>, shift<ShiftRight, int32_t>, shift<ShiftRight, int64_t>};
  d.finish(left ? lefts[size] : type.kind == Kind::s ? signs[size] : rights[size]);
}
void decode_shl(Decoder& d) { decode_shift(d, true); }
void decode_shr(Decoder& d) { decode_shift(d, false); }

// 32 bits of b:a; choice: to the left, modulo 32.
struct Funnel {
  uint32_t operator()(const Code& code, uint32_t a, uint32_t b, uint32_t c) const {
    const uint64_t both = uint64_t{b} << 32 | a;
    const uint32_t by = code.choice[1] ? c & 31 : std::min(c, 32u);
    return static_cast<uint32_t>(code.choice[0] ? both << by >> 32 : both >> by);
  }
};
void decode_shf(Decoder& d) {
  d.code.choice[0] = d.take("l");
  if (!d.code.choice[0] && !d.take("r")) d.refuse(".l or .r is missing");
  d.code.choice[1] = d.take("wrap");
  if (!d.code.choice[1] && !d.take("clamp")) d.refuse(".wrap or .clamp is missing");
  const Type type = d.type();
  if (!type.is(Kind::b, 32)) d.refuse_type(type);
  operands_of(d, 3, 32);
  d.code.carries_bits = true;
  d.finish(lanewise_of<Funnel, 3, uint32_t>());
}

// Any function of three bits: bit 4a + 2b + c of the table.
struct Lookup3 {
  uint32_t operator()(const Code& code, uint32_t a, uint32_t b, uint32_t c) const {
    uint32_t out = 0;
    for (int i = 0; i < 8; ++i)
      if (code.choice[0] >> i & 1) out |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
    return out;
  }
};
void decode_lop3(Decoder& d) {
  const Type type = d.type();
  if (!type.is(Kind::b, 32)) d.refuse_type(type);
  d.expect(5);
  d.write(0, 32);
  for (size_t i = 1; i < 4; ++i) d.read(i, 32);
  if (d.immediate(4) > 255) d.refuse("a table of 8 bits");
  d.code.choice[0] = static_cast<uint8_t>(d.immediate(4));
  d.code.carries_bits = true;
  d.finish(lanewise_of<Lookup3, 3, uint32_t>());
}

// `count` bits of a from `from` on, with their own sign if T has one.
struct ExtractField {
  template <class T>
  T operator()(T a, uint32_t from, uint32_t count) const {
    using U = std::make_unsigned_t<T>;
    constexpr uint32_t width = 8 * sizeof(T);
    from &= 255, count &= 255;
    if (count == 0) return 0;
    if (from >= width) return std::is_signed_v<T> && a < 0 ? static_cast<T>(-1) : T{0};
    count = std::min(count, width - from);
    const U up = static_cast<U>(static_cast<U>(a) << (width - from - count));
    return static_cast<T>(static_cast<T>(up) >> (width - count));
  }
};
void decode_bfe(Decoder& d) {
  const Type type = d.type();
  if (!type.is_integer() || type.kind == Kind::b || type.bits < 32) d.refuse_type(type);
  d.expect(4);
  d.write(0, type.bits);
  d.read(1, type.bits);
  d.read(2, 32);
  d.read(3, 32);
  d.code.carries_bits = true;
  using F = ExtractField;
  if (type.kind == Kind::s)
    return d.finish(type.bits == 32 ? lanewise<F, int32_t, int32_t, uint32_t, uint32_t>
                                    : lanewise<F, int64_t, int64_t, uint32_t, uint32_t>);
  d.finish(type.bits == 32 ? lanewise<F, uint32_t, uint32_t, uint32_t, uint32_t>
                           : lanewise<F, uint64_t, uint64_t, uint32_t, uint32_t>);
}

struct InsertField {  // of a into b
  template <class T>
  T operator()(T a, T b, uint32_t from, uint32_t count) const {
    constexpr uint32_t width = 8 * sizeof(T);
    from &= 255, count = std::min(count & 255, width);
    if (from >= width || count == 0) return b;
    const T field = static_cast<T>((count == width ? ~T{0} : (T{1} << count) - 1) << from);
    return (b & ~field) | (a << from & field);
  }
};
void decode_bfi(Decoder& d) {
  const Type type = d.type();
  if (type.kind != Kind::b || type.bits < 32) d.refuse_type(type);
  d.expect(5);
  d.write(0, type.bits);
  d.read(1, type.bits);
  d.read(2, type.bits);
  d.read(3, 32);
  d.read(4, 32);
  d.code.carries_bits = true;
  d.finish(type.bits == 32 ? lanewise<InsertField, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t>
                           : lanewise<InsertField, uint64_t, uint64_t, uint64_t, uint32_t, uint32_t>);
}

struct PopulationCount {
  template <class T>
  uint32_t operator()(T a) const {
    return static_cast<uint32_t>(std::popcount(a));
  }
};
struct LeadingZeros {
  template <class T>
  uint32_t operator()(T a) const {
    return static_cast<uint32_t>(std::countl_zero(a));
  }
};
template <class F>
void decode_count(Decoder& d) {
  const Type type = d.type();
  if (type.kind != Kind::b || type.bits < 32) d.refuse_type(type);
  d.expect(2);
  d.write(0, 32);
  d.read(1, type.bits);
  d.finish(type.bits == 32 ? lanewise<F, uint32_t, uint32_t> : lanewise<F, uint32_t, uint64_t>);
}

struct Reverse {
  template <class T>
  T operator()(T a) const {
    T out = 0;
    for (size_t i = 0; i < 8 * sizeof(T); ++i) out |= (a >> i & 1) << (8 * sizeof(T) - 1 - i);
    return out;
  }
};
void decode_brev(Decoder& d) {
  const Type type = d.type();
  if (type.kind != Kind::b || type.bits < 32) d.refuse_type(type);
  operands_of(d, 1, type.bits);
  d.finish(of_unsigned<Reverse, 1>(type));
}

// Four products of bytes and a sum; choice: a's bytes have signs, b's have.
struct DotOfBytes {
  uint32_t operator()(const Code& code, uint32_t a, uint32_t b, uint32_t c) const {
    for (int i = 0; i < 4; ++i) {
      const auto x = static_cast<uint8_t>(a >> (8 * i)), y = static_cast<uint8_t>(b >> (8 * i));
      const int32_t p = (code.choice[0] ? static_cast<int8_t>(x) : x) * (code.choice[1] ? static_cast<int8_t>(y) : y);
      c += static_cast<uint32_t>(p);
    }
    return c;
  }
};
void decode_dp4a(Decoder& d) {
  const Type a = d.type(), b = d.type();
  for (const Type type : {a, b})
    if (type.bits != 32 || (type.kind != Kind::s && type.kind != Kind::u)) d.refuse_type(type);
  d.code.choice = {a.kind == Kind::s, b.kind == Kind::s};
  operands_of(d, 3, 32);
  d.finish(lanewise_of<DotOfBytes, 3, uint32_t>());
}

constexpr Opcode kOpcodes[] = {
    {"and", decode_logic<And, 2>},
    {"or", decode_logic<Or, 2>},
    {"xor", decode_logic<Xor, 2>},
    {"not", decode_logic<Not, 1>},
    {"shl", decode_shl},
    {"shr", decode_shr},
    {"shf", decode_shf},
    {"lop3", decode_lop3},
    {"bfe", decode_bfe},
    {"bfi", decode_bfi},
    {"popc", decode_count<PopulationCount>},
    {"clz", decode_count<LeadingZeros>},
    {"brev", decode_brev},
    {"dp4a", decode_dp4a},
};

}  // namespace

std::span<const Opcode> integer_opcodes() { return kOpcodes; }

}  // namespace hone::ptx
