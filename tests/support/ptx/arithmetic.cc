// Sums, products and what follows from them, of integers and of floats. No fast mathematics: every result is rounded
// once as the instruction says, and NaN is the one that devices make.
#include "tests/support/ptx/lanewise.h"

namespace hone::ptx {
namespace {

using Kind = Type::Kind;

// A bf16 from the nearest f32: rounding twice differs from rounding once only where that lies between two bf16.
template <class Exact>
Bfloat to_bfloat(float nearest, Exact exact) {
  if ((std::bit_cast<uint32_t>(nearest) & 0xffff) != 0x8000) return nearest_bfloat(nearest);
  return rounded<Bfloat>(exact(), Rounding::nearest_even);
}

// Each has its result in f64, exact or rounded to odd, and in the types themselves.
template <class T>
T wrapped(std::make_unsigned_t<T> v) {
  return static_cast<T>(v);
}
struct Add {
  static double exact(double a, double b) { return odd_sum(a, b); }
  template <class T>
  T operator()(T a, T b) const {
    using U = std::make_unsigned_t<T>;
    return wrapped<T>(static_cast<U>(static_cast<U>(a) + static_cast<U>(b)));
  }
  float operator()(float a, float b) const { return canonical(a + b); }
  double operator()(double a, double b) const { return a + b; }
};
struct Subtract {
  static double exact(double a, double b) { return odd_sum(a, -b); }
  template <class T>
  T operator()(T a, T b) const {
    using U = std::make_unsigned_t<T>;
    return wrapped<T>(static_cast<U>(static_cast<U>(a) - static_cast<U>(b)));
  }
  float operator()(float a, float b) const { return canonical(a - b); }
  double operator()(double a, double b) const { return a - b; }
};
struct Multiply {
  static double exact(double a, double b) { return a * b; }
  template <class T>
  T operator()(T a, T b) const {  // of 16 bits, int would overflow
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  }
  float operator()(float a, float b) const { return canonical(a * b); }
  double operator()(double a, double b) const { return a * b; }
};
struct FusedMultiplyAdd {
  static double exact(double a, double b, double c) { return odd_sum(a * b, c); }
  float operator()(float a, float b, float c) const { return canonical(std::fma(a, b, c)); }
  double operator()(double a, double b, double c) const { return std::fma(a, b, c); }
};
struct Divide {
  static double exact(double a, double b) { return odd_quotient(a, b); }
  float operator()(float a, float b) const { return canonical(a / b); }
  double operator()(double a, double b) const { return a / b; }
};

// f32 in another direction, with subnormals as zeros, or clamped to [0, 1].
template <class F>
struct Directed {
  template <class... T>
  float operator()(const Code& code, T... a) const {
    if (code.flush) ((a = flushed(a)), ...);
    float r = rounded<float>(F::exact(a...), code.rounding);
    if (code.flush) r = flushed(r);
    return code.saturate ? clamped(r) : r;
  }
};
// f16 and bf16, alone and in pairs.
template <class F>
struct Short {
  template <class... T>
  Half operator()(Half first, T... rest) const {
    return rounded<Half>(F::exact(wide(first), wide(rest)...), Rounding::nearest_even);
  }
  template <class... T>
  Bfloat operator()(Bfloat first, T... rest) const {
    return to_bfloat(F{}(bf16_to_f32(first.bits), bf16_to_f32(rest.bits)...),
                     [&] { return F::exact(wide(first), wide(rest)...); });
  }
  template <class T, class... More>
  Pair<T> operator()(Pair<T> first, More... rest) const {
    return {(*this)(first.low, rest.low...), (*this)(first.high, rest.high...)};
  }
};

template <class F, int N>
Handler of_short_float(Type type) {
  if (type.bits != 16) return nullptr;
  if (type.kind == Kind::f) return type.lanes == 2 ? lanewise_of<F, N, Pair<Half>>() : lanewise_of<F, N, Half>();
  return type.lanes == 2 ? lanewise_of<F, N, Pair<Bfloat>>() : lanewise_of<F, N, Bfloat>();
}

// .rn or .rz, .ftz, .sat, then the type.
template <class F, int N>
void decode_float(Decoder& d) {
  d.take_rounding();
  if (d.code.rounding != Rounding::nearest_even && d.code.rounding != Rounding::zero)
    d.refuse("rounding is known to nearest and to zero");
  d.take_flush();
  d.take_saturate();
  const Type type = d.type();
  const bool plain = d.code.rounding == Rounding::nearest_even && !d.code.flush && !d.code.saturate;
  if (!plain && !type.is(Kind::f, 32)) d.refuse("known of f32 alone");
  operands_of(d, N, type.register_bits());
  Handler handler = of_short_float<Short<F>, N>(type);
  if (type.is(Kind::f, 32)) handler = plain ? lanewise_of<F, N, float>() : lanewise_of<Directed<F>, N, float>();
  if (type.is(Kind::f, 64)) handler = lanewise_of<F, N, double>();
  if (!type.is_float() || !handler) d.refuse_type(type);
  d.finish(handler);
}

bool is_integer_form(Decoder d) {  // a look ahead
  while (!d.next_is_type())
    if (d.take_word().empty()) return false;
  return d.type().is_integer();
}

struct AddSaturated {
  int32_t operator()(int32_t a, int32_t b) const {
    return static_cast<int32_t>(std::clamp<int64_t>(int64_t{a} + b, INT32_MIN, INT32_MAX));
  }
};
struct SubtractSaturated {
  int32_t operator()(int32_t a, int32_t b) const {
    return static_cast<int32_t>(std::clamp<int64_t>(int64_t{a} - b, INT32_MIN, INT32_MAX));
  }
};
template <class F, class Saturated>
void decode_sum(Decoder& d) {
  if (!is_integer_form(d)) return decode_float<F, 2>(d);
  const bool saturates = d.take("sat");
  const Type type = d.type();
  const Handler handler = saturates ? lanewise_of<Saturated, 2, int32_t>() : of_integer<F, 2>(type);
  if (!handler || type.kind == Kind::b || (saturates && !type.is(Kind::s, 32))) d.refuse_type(type);
  operands_of(d, 2, type.bits);
  d.finish(handler);
}

struct HighProduct {
  template <class T>
  T operator()(T a, T b) const {
    using Wide = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
    return static_cast<T>(static_cast<Wide>(a) * static_cast<Wide>(b) >> (8 * sizeof(T)));
  }
};
template <class Product>
struct AddTo {
  template <class T>
  T operator()(T a, T b, T c) const {
    return Add{}(Product{}(a, b), c);
  }
};
struct WideProduct {
  int64_t operator()(int32_t a, int32_t b) const { return int64_t{a} * b; }
  uint64_t operator()(uint32_t a, uint32_t b) const { return uint64_t{a} * b; }
  int32_t operator()(int16_t a, int16_t b) const { return int32_t{a} * b; }
  uint32_t operator()(uint16_t a, uint16_t b) const { return uint32_t{a} * b; }
  int64_t operator()(int32_t a, int32_t b, int64_t c) const { return Add{}(int64_t{a} * b, c); }
  uint64_t operator()(uint32_t a, uint32_t b, uint64_t c) const { return uint64_t{a} * b + c; }
  int32_t operator()(int16_t a, int16_t b, int32_t c) const { return Add{}(int32_t{a} * b, c); }
  uint32_t operator()(uint16_t a, uint16_t b, uint32_t c) const { return uint32_t{a} * b + c; }
};

void decode_wide_product(Decoder& d, bool adds) {
  const Type type = d.type();
  if ((type.bits != 16 && type.bits != 32) || type.kind == Kind::b) d.refuse_type(type);
  d.expect(adds ? 4 : 3);
  d.write(0, 2 * type.bits);
  d.read(1, type.bits);
  d.read(2, type.bits);
  if (adds) d.read(3, 2 * type.bits);
  const bool has_sign = type.kind == Kind::s;
  using F = WideProduct;
  const Handler two[] = {lanewise<F, uint32_t, uint16_t, uint16_t>, lanewise<F, int32_t, int16_t, int16_t>,
                         lanewise<F, uint64_t, uint32_t, uint32_t>, lanewise<F, int64_t, int32_t, int32_t>};
  const Handler three[] = {
      lanewise<F, uint32_t, uint16_t, uint16_t, uint32_t>, lanewise<F, int32_t, int16_t, int16_t, int32_t>,
      lanewise<F, uint64_t, uint32_t, uint32_t, uint64_t>, lanewise<F, int64_t, int32_t, int32_t, int64_t>};
  d.finish((adds ? three : two)[2 * (type.bits == 32) + has_sign]);
}

template <class Low, class High, int N, class Float>
void decode_product(Decoder& d) {
  if (!is_integer_form(d)) return decode_float<Float, N>(d);
  if (d.take("wide")) return decode_wide_product(d, N == 3);
  const bool high = d.take("hi");
  if (!high && !d.take("lo")) d.refuse(".lo, .hi or .wide is missing");
  const Type type = d.type();
  const Handler handler = high ? of_integer<High, N>(type) : of_integer<Low, N>(type);
  if (!handler || type.kind == Kind::b) d.refuse_type(type);
  operands_of(d, N, type.bits);
  d.finish(handler);
}

template <class T, bool remainder>
void divide(Warp& warp, const Code& code, Lanes mask) {
  const Operand* operands = warp.operands(code);
  const Element<T>*a = elements<T>(warp, operands[1]), *b = elements<T>(warp, operands[2]);
  Element<T>* out = elements<T>(warp, operands[0]);
  for_lanes(mask, [&](int lane) {
    const T x = decoded<T>(a[lane]), y = decoded<T>(b[lane]);
    if (y == 0) warp.fault(code, lane, "division by zero");
    if (std::is_signed_v<T> && y == static_cast<T>(-1)) out[lane] = encoded<T>(remainder ? T{0} : Subtract{}(T{0}, x));
    else out[lane] = encoded<T>(static_cast<T>(remainder ? x % y : x / y));
  });
}
template <bool remainder>
Handler divide_of(Type type) {
  const bool has_sign = type.kind == Kind::s;
  return type.bits == 16   ? (has_sign ? divide<int16_t, remainder> : divide<uint16_t, remainder>)
         : type.bits == 32 ? (has_sign ? divide<int32_t, remainder> : divide<uint32_t, remainder>)
         : type.bits == 64 ? (has_sign ? divide<int64_t, remainder> : divide<uint64_t, remainder>)
                           : nullptr;
}
void decode_div(Decoder& d) {
  if (!is_integer_form(d)) {
    if (!d.take_any({"approx", "full"})) return decode_float<Divide, 2>(d);
    d.take_flush();  // within 2 ulp of this one
    const Type type = d.type();
    if (!type.is(Kind::f, 32)) d.refuse_type(type);
    operands_of(d, 2, 32);
    return d.finish(lanewise_of<Directed<Divide>, 2, float>());
  }
  const Type type = d.type();
  if (type.kind == Kind::b || !divide_of<false>(type)) d.refuse_type(type);
  operands_of(d, 2, type.bits);
  d.finish(divide_of<false>(type));
}
void decode_rem(Decoder& d) {
  const Type type = d.type();
  if (type.is_float() || type.kind == Kind::b || !divide_of<true>(type)) d.refuse_type(type);
  operands_of(d, 2, type.bits);
  d.finish(divide_of<true>(type));
}

template <bool least>
struct ExtremeInteger {
  template <class T>
  T operator()(T a, T b) const {
    return (a < b) == least ? a : b;
  }
};
// The other one where one is NaN, unless .NaN; -0 is less than 0.
template <bool least>
struct Extreme {
  static double of(double a, double b, bool nan_wins) {
    if (std::isnan(a) || std::isnan(b))
      return nan_wins || (std::isnan(a) && std::isnan(b)) ? NAN : std::isnan(a) ? b : a;
    if (a == b) return std::signbit(a) == least ? a : b;
    return (a < b) == least ? a : b;
  }
  float operator()(const Code& code, float a, float b) const {
    if (code.flush) a = flushed(a), b = flushed(b);
    return canonical(static_cast<float>(of(a, b, code.choice[0])));
  }
  double operator()(const Code& code, double a, double b) const { return of(a, b, code.choice[0]); }
  Half operator()(const Code& code, Half a, Half b) const {
    return rounded<Half>(of(wide(a), wide(b), code.choice[0]), Rounding::zero);
  }
  Bfloat operator()(const Code& code, Bfloat a, Bfloat b) const {
    return rounded<Bfloat>(of(wide(a), wide(b), code.choice[0]), Rounding::zero);
  }
  template <class T>
  Pair<T> operator()(const Code& code, Pair<T> a, Pair<T> b) const {
    return {(*this)(code, a.low, b.low), (*this)(code, a.high, b.high)};
  }
};
template <bool least>
void decode_extreme(Decoder& d) {
  using F = Extreme<least>;
  d.take_flush();
  d.code.choice[0] = d.take("NaN");
  const Type type = d.type();
  Handler handler = type.is_float() ? of_short_float<F, 2>(type) : of_integer<ExtremeInteger<least>, 2>(type);
  if (type.is(Kind::f, 32)) handler = lanewise_of<F, 2, float>();
  if (type.is(Kind::f, 64)) handler = lanewise_of<F, 2, double>();
  if (!handler || type.kind == Kind::b || type.kind == Kind::tf) d.refuse_type(type);
  if ((d.code.flush && !type.is(Kind::f, 32)) || (d.code.choice[0] && !type.is_float())) d.refuse_type(type);
  operands_of(d, 2, type.register_bits());
  d.finish(handler);
}

// Sign bits; of integers the two's complement.
template <bool absolute>
struct SignOfInteger {
  template <class T>
  T operator()(T a) const {
    return absolute && a >= 0 ? a : Subtract{}(T{0}, a);
  }
};
template <bool absolute>
struct Sign {
  float operator()(const Code& code, float a) const {
    if (code.flush) a = flushed(a);
    return canonical(absolute ? std::fabs(a) : -a);
  }
  double operator()(const Code&, double a) const { return absolute ? std::fabs(a) : -a; }
};
template <bool absolute, uint32_t bit, class T>
struct SignBits {
  T operator()(T bits) const { return absolute ? bits & static_cast<T>(~bit) : bits ^ static_cast<T>(bit); }
};
template <bool absolute>
void decode_sign(Decoder& d) {
  d.take_flush();
  const Type type = d.type();
  Handler handler = type.kind == Kind::s ? of_signed<SignOfInteger<absolute>, 1>(type) : nullptr;
  if (type.is(Kind::f, 32)) handler = lanewise_of<Sign<absolute>, 1, float>();
  else if (d.code.flush) d.refuse_type(type);
  if (type.is(Kind::f, 64)) handler = lanewise_of<Sign<absolute>, 1, double>();
  if (type.is_float() && type.bits == 16)
    handler = type.lanes == 1 ? lanewise_of<SignBits<absolute, 0x8000u, uint16_t>, 1, uint16_t>()
                              : lanewise_of<SignBits<absolute, 0x80008000u, uint32_t>, 1, uint32_t>();
  if (!handler) d.refuse_type(type);
  operands_of(d, 1, type.register_bits());
  d.finish(handler);
}

struct CopySign {  // of a onto b
  float operator()(float a, float b) const { return std::copysign(b, a); }
  double operator()(double a, double b) const { return std::copysign(b, a); }
};
void decode_copysign(Decoder& d) {
  const Type type = d.type();
  if (!type.is(Kind::f, 32) && !type.is(Kind::f, 64)) d.refuse_type(type);
  operands_of(d, 2, type.bits);
  d.finish(type.bits == 32 ? lanewise_of<CopySign, 2, float>() : lanewise_of<CopySign, 2, double>());
}

constexpr Opcode kOpcodes[] = {
    {"add", decode_sum<Add, AddSaturated>},
    {"sub", decode_sum<Subtract, SubtractSaturated>},
    {"mul", decode_product<Multiply, HighProduct, 2, Multiply>},
    {"mad", decode_product<AddTo<Multiply>, AddTo<HighProduct>, 3, FusedMultiplyAdd>},
    {"fma", decode_float<FusedMultiplyAdd, 3>},
    {"div", decode_div},
    {"rem", decode_rem},
    {"min", decode_extreme<true>},
    {"max", decode_extreme<false>},
    {"neg", decode_sign<false>},
    {"abs", decode_sign<true>},
    {"copysign", decode_copysign},
};

}  // namespace

std::span<const Opcode> arithmetic_opcodes() { return kOpcodes; }

}  // namespace hone::ptx
