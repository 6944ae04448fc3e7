// Matrices of a warp: ldmatrix, and the products of mma.sync. Lane l holds of each the elements of row l / 4 and of the
// columns from l % 4 on, as many as a register has.
#include <algorithm>
#include <cstring>

#include "tests/support/ptx/access.h"
#include "tests/support/ptx/decoder.h"
#include "tests/support/ptx/numbers.h"
#include "tests/support/ptx/product_sums.h"

namespace hone::ptx {
namespace {

using Kind = Type::Kind;

// choice: matrices, transposed. Lane 8 i + r gives the address of row r of matrix i.
void load_matrices(Warp& warp, const Code& code, Lanes) {
  const Operand* operands = warp.operands(code);
  const int n = code.choice[0];
  const Lanes givers = n == 4 ? kAllLanes : (Lanes{1} << (8 * n)) - 1;
  Reached reached;
  addresses(warp, code, operands[n], givers, reached.address);
  reach(warp, code, givers, Space::shared, 16, Touch::read, reached);
  for (int i = 0; i < n; ++i) {
    uint16_t rows[8][8];
    for (int r = 0; r < 8; ++r) std::memcpy(rows[r], reached.host[static_cast<size_t>(8 * i + r)], 16);
    for (int lane = 0; lane < kLanes; ++lane) {
      const int r = lane / 4, c = lane % 4 * 2;
      const uint32_t low = code.choice[1] ? rows[c][r] : rows[r][c],
                     high = code.choice[1] ? rows[c + 1][r] : rows[r][c + 1];
      warp.words[operands[i].at + static_cast<uint32_t>(lane)] = low | high << 16;
    }
  }
}
void decode_ldmatrix(Decoder& d) {
  if (!d.take("sync") || !d.take("aligned") || !d.take("m8n8")) d.refuse("known as ldmatrix.sync.aligned.m8n8");
  const int n = d.take("x1") ? 1 : d.take("x2") ? 2 : d.take("x4") ? 4 : 0;
  if (n == 0) d.refuse(".x1, .x2 or .x4 is missing");
  d.code.choice = {static_cast<uint8_t>(n), d.take("trans")};
  if (!d.take_any({"shared", "shared::cta"})) d.refuse(".shared is missing");
  const Type type = d.type();
  if (!type.is(Kind::b, 16)) d.refuse_type(type);
  d.expect(2);
  for (const Argument& part : d.group(0, static_cast<size_t>(n))) d.write(part, 32);
  d.address(1);
  d.code.flow = Flow::whole_warp;
  d.finish(load_matrices);
}

// The shape of an mma and where its elements lie. A register of a and b holds 32 / bits elements side by side in k.
struct Shape {
  int m, n, k, bits;
  int side() const { return 32 / bits; }
  int a_registers() const { return m * k * bits / 1024; }
  int b_registers() const { return n * k * bits / 1024; }
};
struct Place {
  int row, column;
};
// Element e of register r of a lane: of a [m][k], of b [k][n], of sums [m][n].
Place of_a(const Shape& s, int lane, int r, int e) {
  const int rows = s.m / 8;  // registers whose rows differ come first
  return {lane / 4 + r % rows * 8, lane % 4 * s.side() + r / rows * 4 * s.side() + e};
}
Place of_b(const Shape& s, int lane, int r, int e) { return {lane % 4 * s.side() + r * 4 * s.side() + e, lane / 4}; }
Place of_sum(int lane, int i) { return {lane / 4 + i / 2 * 8, lane % 4 * 2 + i % 2}; }

// Codes of a type of a or b.
enum class Coding : uint8_t { half, bfloat, tf32, bytes, halves_of_bytes };
Coding coding_of(Type type) {
  return type.kind == Kind::bf   ? Coding::bfloat
         : type.kind == Kind::tf ? Coding::tf32
         : type.kind == Kind::f  ? Coding::half
         : type.bits == 8        ? Coding::bytes
                                 : Coding::halves_of_bytes;
}
template <Coding coding>
constexpr int kBits = coding == Coding::tf32              ? 32
                      : coding == Coding::bytes           ? 8
                      : coding == Coding::halves_of_bytes ? 4
                                                          : 16;

// Element e of a register, whose codes have signs if they are integers.
template <Coding coding>
float element(uint32_t word, int e, bool has_sign) {
  if constexpr (coding == Coding::tf32) return std::bit_cast<float>(word & ~0x1fffu);
  constexpr int bits = kBits<coding>;
  const uint32_t up = word << (32 - bits - bits * e);  // the code on top
  if constexpr (coding == Coding::bfloat) return std::bit_cast<float>(up & 0xffff0000u);
  if constexpr (coding == Coding::half) return wide_half(static_cast<uint16_t>(up >> 16));
  return has_sign ? static_cast<float>(static_cast<int32_t>(up) >> (32 - bits)) : static_cast<float>(up >> (32 - bits));
}

// choice: m, k, whether the codes of a and of b have signs.
template <Coding coding>
Shape shape_of(const Code& code) {
  return {code.choice[0], 8, code.choice[1], kBits<coding>};
}

// Products and sums of T: of floats in f64; of integers in f32, which holds sums of 64 products of bytes exactly.
template <Coding coding>
using Sum = std::conditional_t<coding == Coding::bytes || coding == Coding::halves_of_bytes, float, double>;

template <class T>
struct Factors {
  std::array<T, 16 * 64> a;  // [m][k]
  std::array<T, 64 * 8> b;   // [k][n]
};
template <Coding coding>
void read_factors(const Warp& warp, const Code& code, const Shape& s, const Operand* a, Factors<Sum<coding>>& out) {
  using T = Sum<coding>;
  const Operand* b = a + s.a_registers();
  const int side = 32 / kBits<coding>;
  for (int r = 0; r < s.a_registers(); ++r) {
    const Place first = of_a(s, 0, r, 0);
    for (int lane = 0; lane < kLanes; ++lane) {
      T* to = &out.a[static_cast<size_t>((first.row + lane / 4) * s.k + first.column + lane % 4 * side)];
      for (int e = 0; e < side; ++e)
        to[e] = static_cast<T>(element<coding>(warp.words[a[r].at + static_cast<uint32_t>(lane)], e, code.choice[2]));
    }
  }
  for (int r = 0; r < s.b_registers(); ++r)
    for (int lane = 0; lane < kLanes; ++lane) {
      const Place p = of_b(s, lane, r, 0);
      T* to = &out.b[static_cast<size_t>(p.row * 8 + p.column)];
      for (int e = 0; e < side; ++e)
        to[8 * e] =
            static_cast<T>(element<coding>(warp.words[b[r].at + static_cast<uint32_t>(lane)], e, code.choice[3]));
    }
}

// Sums of lane l are the elements of_sum(l, 0 …): in registers of their own, or two a register in f16.
template <Coding coding>
void multiply_integers(Warp& warp, const Code& code, Lanes) {
  const Shape s = shape_of<coding>(code);
  const int sums = s.m * 8 / kLanes;
  const Operand *d = warp.operands(code), *a = d + sums, *c = a + s.a_registers() + s.b_registers();
  Factors<float> f;
  read_factors<coding>(warp, code, s, a, f);
  std::array<SumRow<float>, 16> out{};
  for (int row = 0; row < s.m; ++row)
    add_exact(out[static_cast<size_t>(row)], &f.a[static_cast<size_t>(row * s.k)], f.b.data(), s.k);
  for (int i = 0; i < sums; ++i)
    for (int lane = 0; lane < kLanes; ++lane) {
      const Place p = of_sum(lane, i);
      const auto at = static_cast<uint32_t>(lane);
      int64_t v = static_cast<int64_t>(out[static_cast<size_t>(p.row)][static_cast<size_t>(p.column)]);
      v += static_cast<int32_t>(warp.words[c[i].at + at]);
      if (code.saturate) v = std::clamp<int64_t>(v, INT32_MIN, INT32_MAX);
      warp.words[d[i].at + at] = static_cast<uint32_t>(v);
    }
}

// Sums are f32, or two f16 a register. All shapes of floats have 16 rows, and so four sums a lane.
template <Coding coding, bool in_half>
void multiply_floats(Warp& warp, const Code& code, Lanes) {
  const Shape s = shape_of<coding>(code);
  constexpr int kSums = 4, kRegisters = in_half ? kSums / 2 : kSums;
  const Operand *d = warp.operands(code), *a = d + kRegisters, *c = a + s.a_registers() + s.b_registers();
  Factors<double> f;
  read_factors<coding>(warp, code, s, a, f);
  std::array<std::array<double, 8>, 16> out;
  for (int i = 0; i < kSums; ++i) {
    const uint32_t* words = warp.words.data() + c[in_half ? i / 2 : i].at;
    for (int lane = 0; lane < kLanes; ++lane)
      out[static_cast<size_t>(lane / 4 + i / 2 * 8)][static_cast<size_t>(lane % 4 * 2 + i % 2)] =
          in_half ? wide_half(static_cast<uint16_t>(words[lane] >> (16 * (i % 2)))) : std::bit_cast<float>(words[lane]);
  }
  for (size_t row = 0; row < 16; ++row)
    add_products(out[row], &f.a[row * static_cast<size_t>(s.k)], f.b.data(), s.k, warp.block.launch.sums);
  for (int i = 0; i < kSums; ++i) {
    uint32_t* words = warp.words.data() + d[in_half ? i / 2 : i].at;
    for (int lane = 0; lane < kLanes; ++lane) {
      const double v = out[static_cast<size_t>(lane / 4 + i / 2 * 8)][static_cast<size_t>(lane % 4 * 2 + i % 2)];
      if constexpr (!in_half) words[lane] = std::bit_cast<uint32_t>(canonical(static_cast<float>(v)));
      else {
        const uint32_t half = rounded<Half>(v, Rounding::nearest_even).bits;
        words[lane] = i % 2 == 0 ? half : words[lane] | half << 16;
      }
    }
  }
}

Handler product_of(Coding coding, bool in_half) {
  switch (coding) {
    case Coding::half:
      return in_half ? multiply_floats<Coding::half, true> : multiply_floats<Coding::half, false>;
    case Coding::bfloat:
      return multiply_floats<Coding::bfloat, false>;
    case Coding::tf32:
      return multiply_floats<Coding::tf32, false>;
    case Coding::bytes:
      return multiply_integers<Coding::bytes>;
    case Coding::halves_of_bytes:
      break;
  }
  return multiply_integers<Coding::halves_of_bytes>;
}

bool known(const Shape& s, Type a) {
  const auto is = [&](int m, int k) { return s.m == m && s.k == k; };
  switch (a.kind) {
    case Kind::f:
    case Kind::bf:
      return a.bits == 16 && a.lanes == 1 && (is(16, 8) || is(16, 16));
    case Kind::tf:
      return is(16, 4) || is(16, 8);
    case Kind::s:
    case Kind::u:
      return a.bits == 8   ? is(8, 16) || is(16, 16) || is(16, 32)
             : a.bits == 4 ? is(8, 32) || is(16, 32) || is(16, 64)
                           : false;
    default:
      return false;
  }
}

Shape take_shape(Decoder& d) {
  static constexpr std::pair<std::string_view, Shape> kShapes[] = {
      {"m16n8k4", {16, 8, 4, 0}},   {"m16n8k8", {16, 8, 8, 0}},   {"m16n8k16", {16, 8, 16, 0}},
      {"m16n8k32", {16, 8, 32, 0}}, {"m16n8k64", {16, 8, 64, 0}}, {"m8n8k16", {8, 8, 16, 0}},
      {"m8n8k32", {8, 8, 32, 0}},
  };
  for (const auto& [name, shape] : kShapes)
    if (d.take(name)) return shape;
  d.refuse("the shape is not known");
}

void decode_mma(Decoder& d) {
  if (!d.take("sync") || !d.take("aligned")) d.refuse(".sync.aligned is missing");
  Shape s = take_shape(d);
  if (!d.take("row") || !d.take("col")) d.refuse(".row.col is missing");
  d.code.saturate = d.take("satfinite");
  const Type out = d.type(), a = d.type(), b = d.type(), c = d.type();
  s.bits = a.bits;
  const bool integers = a.kind == Kind::s || a.kind == Kind::u;
  const bool alike = integers ? (b.kind == Kind::s || b.kind == Kind::u) && a.bits == b.bits : a.kind == b.kind;
  const bool in_half = a.kind == Kind::f && out.is(Kind::f, 16) && c.is(Kind::f, 16);
  const bool sums_known = integers ? out.is(Kind::s, 32) && c.is(Kind::s, 32)
                                   : in_half || (out.is(Kind::f, 32) && c.is(Kind::f, 32) && !d.code.saturate);
  if (!known(s, a) || !alike || a.bits != b.bits || !sums_known) d.refuse("these types in this shape are not known");
  d.code.choice = {static_cast<uint8_t>(s.m), static_cast<uint8_t>(s.k), a.kind == Kind::s, b.kind == Kind::s};
  d.expect(4);
  const auto sums = static_cast<size_t>(s.m * 8 / kLanes / (in_half ? 2 : 1));
  for (const Argument& part : d.group(0, sums)) d.write(part, 32);
  for (const Argument& part : d.group(1, static_cast<size_t>(s.a_registers()))) d.read(part, 32);
  for (const Argument& part : d.group(2, static_cast<size_t>(s.b_registers()))) d.read(part, 32);
  for (const Argument& part : d.group(3, sums)) d.read(part, 32);
  d.code.flow = Flow::whole_warp;
  d.finish(product_of(coding_of(a), in_half));
}

constexpr Opcode kOpcodes[] = {{"ldmatrix", decode_ldmatrix}, {"mma", decode_mma}};

}  // namespace

std::span<const Opcode> matrix_opcodes() { return kOpcodes; }

}  // namespace hone::ptx
