// Roots, inverses, powers. The approximate forms give the nearest f32 here; devices may be off by what the manual of
// PTX states for each (2 ulp for ex2, 1 for rcp, 2^-22 for lg2, …), so results of kernels may be asked for within that
// only.
#include "tests/support/ptx/lanewise.h"

namespace hone::ptx {
namespace {

using Kind = Type::Kind;

template <class F>
struct OfFloat {
  float operator()(const Code& code, float a) const {
    if (code.flush) a = flushed(a);
    const float r = rounded<float>(F::of(a), code.rounding);
    return code.flush ? flushed(r) : r;
  }
  Half operator()(Half a) const { return rounded<Half>(F::of(wide(a)), Rounding::nearest_even); }
  Bfloat operator()(Bfloat a) const { return rounded<Bfloat>(F::of(wide(a)), Rounding::nearest_even); }
  template <class T>
  Pair<T> operator()(Pair<T> a) const {
    return {(*this)(a.low), (*this)(a.high)};
  }
};
struct Reciprocal {
  static double of(double a) { return odd_quotient(1, a); }
  double operator()(double a) const { return 1 / a; }
};
struct Root {
  static double of(double a) { return odd_root(a); }
  double operator()(double a) const { return std::sqrt(a); }
};
struct ReciprocalRoot {
  static double of(double a) { return 1 / std::sqrt(a); }
};
struct PowerOfTwo {
  static double of(double a) { return std::exp2(a); }
};
struct Logarithm {
  static double of(double a) { return std::log2(a); }
};
struct Sine {
  static double of(double a) { return std::sin(a); }
};
struct Cosine {
  static double of(double a) { return std::cos(a); }
};
struct HyperbolicTangent {
  static double of(double a) { return std::tanh(a); }
};

// .approx of f32, and of shorter ones where `shorter`.
template <class F, bool shorter = false>
void decode_approximate(Decoder& d) {
  if (!d.take("approx")) d.refuse(".approx is missing");
  d.take_flush();
  const Type type = d.type();
  Handler handler = type.is(Kind::f, 32) ? lanewise<OfFloat<F>, float, float> : nullptr;
  if constexpr (shorter) {
    using G = OfFloat<F>;
    if (type.is(Kind::f, 16)) handler = lanewise<G, Half, Half>;
    if (type.is(Kind::f, 16, 2)) handler = lanewise<G, Pair<Half>, Pair<Half>>;
    if (type.is(Kind::bf, 16)) handler = lanewise<G, Bfloat, Bfloat>;
    if (type.is(Kind::bf, 16, 2)) handler = lanewise<G, Pair<Bfloat>, Pair<Bfloat>>;
  }
  if (!handler) d.refuse_type(type);
  operands_of(d, 1, type.register_bits());
  d.finish(handler);
}

// .rn or .rz of f32, .rn of f64; .approx.
template <class F>
void decode_exact(Decoder& d) {
  if (Decoder ahead = d; ahead.take("approx")) return decode_approximate<F>(d);
  if (!d.take_rounding() || (d.code.rounding != Rounding::nearest_even && d.code.rounding != Rounding::zero))
    d.refuse(".rn, .rz or .approx is missing");
  d.take_flush();
  const Type type = d.type();
  const bool plain = d.code.rounding == Rounding::nearest_even && !d.code.flush;
  Handler handler = type.is(Kind::f, 32) ? lanewise<OfFloat<F>, float, float> : nullptr;
  if (type.is(Kind::f, 64) && plain) handler = lanewise<F, double, double>;
  if (!handler) d.refuse_type(type);
  operands_of(d, 1, type.bits);
  d.finish(handler);
}

constexpr Opcode kOpcodes[] = {
    {"rcp", decode_exact<Reciprocal>},
    {"sqrt", decode_exact<Root>},
    {"rsqrt", decode_approximate<ReciprocalRoot>},
    {"ex2", decode_approximate<PowerOfTwo, true>},
    {"lg2", decode_approximate<Logarithm>},
    {"sin", decode_approximate<Sine>},
    {"cos", decode_approximate<Cosine>},
    {"tanh", decode_approximate<HyperbolicTangent, true>},
};

}  // namespace

std::span<const Opcode> function_opcodes() { return kOpcodes; }

}  // namespace hone::ptx
