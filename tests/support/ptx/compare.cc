// setp: comparisons to predicates.
#include "tests/support/ptx/lanewise.h"

namespace hone::ptx {
namespace {

using Kind = Type::Kind;

enum class How : uint8_t { eq, ne, lt, le, gt, ge, num, nan };
enum class Join : uint8_t { none, both, either, exclusive };

template <class T>
bool compare(How how, bool unordered, T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    const bool nan = std::isnan(a) || std::isnan(b);
    if (how == How::num || how == How::nan) return nan == (how == How::nan);
    if (nan) return unordered;
  }
  switch (how) {
    case How::eq:
      return a == b;
    case How::ne:
      return a != b;
    case How::lt:
      return a < b;
    case How::le:
      return a <= b;
    case How::gt:
      return a > b;
    default:
      return a >= b;
  }
}

template <class T>
auto comparable(const Code& code, T v) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, Bfloat>) return static_cast<float>(wide(v));
  else if constexpr (std::is_same_v<T, float>) return code.flush ? flushed(v) : v;
  else return v;
}

// The results, each joined with a third predicate where the instruction has one.
void write_joined(Warp& warp, const Code& code, Lanes first, Lanes second, Lanes mask) {
  if (const auto join = static_cast<Join>(code.choice[2] & 15); join != Join::none) {
    const Lanes c = warp.predicate(warp.operands(code)[code.write_count + 2], code.choice[2] >> 4);
    const auto joined = [&](Lanes v) { return join == Join::both ? v & c : join == Join::either ? v | c : v ^ c; };
    first = joined(first), second = joined(second);
  }
  warp.write_predicate(warp.operands(code)[0], first, mask);
  if (code.write_count > 1) warp.write_predicate(warp.operands(code)[1], second, mask);
}

// choice: how, unordered, join | negated third << 4, results.
template <class T>
void set_predicates(Warp& warp, const Code& code, Lanes mask) {
  const Operand* operands = warp.operands(code) + code.write_count;
  const Element<T>*a = elements<T>(warp, operands[0]), *b = elements<T>(warp, operands[1]);
  const auto how = static_cast<How>(code.choice[0]);
  Lanes holds = 0;
  for_lanes(mask, [&](int lane) {
    const bool yes =
        compare(how, code.choice[1] != 0, comparable(code, decoded<T>(a[lane])), comparable(code, decoded<T>(b[lane])));
    holds |= Lanes{yes} << lane;
  });
  write_joined(warp, code, holds, ~holds, mask);
}

// Of the halves of a pair: the low one's result first.
template <class T>
void set_pair_predicates(Warp& warp, const Code& code, Lanes mask) {
  const Operand* operands = warp.operands(code) + code.write_count;
  const auto *a = elements<uint32_t>(warp, operands[0]), *b = elements<uint32_t>(warp, operands[1]);
  const auto how = static_cast<How>(code.choice[0]);
  Lanes holds[2] = {};
  for_lanes(mask, [&](int lane) {
    for (int half = 0; half < 2; ++half) {
      const auto part = [&](uint32_t pair) { return decoded<T>(static_cast<uint16_t>(pair >> (16 * half))); };
      const bool yes =
          compare(how, code.choice[1] != 0, comparable(code, part(a[lane])), comparable(code, part(b[lane])));
      holds[half] |= Lanes{yes} << lane;
    }
  });
  write_joined(warp, code, holds[0], holds[1], mask);
}

void take_comparison(Decoder& d, bool& names_order) {
  static constexpr struct {
    std::string_view name;
    How how;
    bool unordered;
  } kNames[] = {
      {"eq", How::eq, false},   {"ne", How::ne, false},  {"lt", How::lt, false}, {"le", How::le, false},
      {"gt", How::gt, false},   {"ge", How::ge, false},  {"lo", How::lt, false}, {"ls", How::le, false},
      {"hi", How::gt, false},   {"hs", How::ge, false},  {"equ", How::eq, true}, {"neu", How::ne, true},
      {"ltu", How::lt, true},   {"leu", How::le, true},  {"gtu", How::gt, true}, {"geu", How::ge, true},
      {"num", How::num, false}, {"nan", How::nan, true},
  };
  for (const auto& [name, how, unordered] : kNames)
    if (d.take(name)) {
      d.code.choice[0] = static_cast<uint8_t>(how);
      d.code.choice[1] = unordered;
      names_order = unordered || how == How::num;
      return;
    }
  d.refuse("a comparison is missing");
}

Handler comparison_of(Type type) {
  if (type.lanes == 2)
    return type.kind == Kind::bf  ? set_pair_predicates<Bfloat>
           : type.kind == Kind::f ? set_pair_predicates<Half>
                                  : nullptr;
  if (type.lanes != 1) return nullptr;
  if (type.kind == Kind::bf && type.bits == 16) return set_predicates<Bfloat>;
  if (type.kind == Kind::f)
    return type.bits == 16 ? set_predicates<Half> : type.bits == 32 ? set_predicates<float> : set_predicates<double>;
  if (type.kind == Kind::s)
    return type.bits == 16   ? set_predicates<int16_t>
           : type.bits == 32 ? set_predicates<int32_t>
           : type.bits == 64 ? set_predicates<int64_t>
                             : nullptr;
  if (type.kind != Kind::u && type.kind != Kind::b) return nullptr;
  return type.bits == 16   ? set_predicates<uint16_t>
         : type.bits == 32 ? set_predicates<uint32_t>
         : type.bits == 64 ? set_predicates<uint64_t>
                           : nullptr;
}

void decode_setp(Decoder& d) {
  bool names_order = false;
  take_comparison(d, names_order);
  auto join = Join::none;
  if (d.take("and")) join = Join::both;
  else if (d.take("or")) join = Join::either;
  else if (d.take("xor")) join = Join::exclusive;
  d.take_flush();
  const Type type = d.type();
  const Handler handler = comparison_of(type);
  if (!handler || (names_order && !type.is_float()) || (d.code.flush && !type.is(Kind::f, 32))) d.refuse_type(type);
  d.expect(join == Join::none ? 3 : 4);
  if (type.lanes == 2 && d.argument(0).is != Argument::Is::group) d.refuse("two results are needed, one of each half");
  if (d.argument(0).is == Argument::Is::group)
    for (const Argument& part : d.group(0, 2)) d.write(part, 1);
  else d.write(0, 1);
  d.read(1, type.register_bits());
  d.read(2, type.register_bits());
  d.code.choice[2] = static_cast<uint8_t>(join);
  if (join != Join::none) {
    d.read(3, 1);
    d.code.choice[2] = static_cast<uint8_t>(d.code.choice[2] | d.negated(3) << 4);
  }
  d.finish(handler);
}

constexpr Opcode kOpcodes[] = {{"setp", decode_setp}};

}  // namespace

std::span<const Opcode> compare_opcodes() { return kOpcodes; }

}  // namespace hone::ptx
