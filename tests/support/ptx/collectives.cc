// What lanes of a warp do together: shuffles, votes, reductions.
#include "tests/support/ptx/lanewise.h"

namespace hone::ptx {
namespace {

using Kind = Type::Kind;

// Lane l of `lanes` gives its value to who asks; another one is a fault.
uint32_t value_of(Warp& warp, const Code& code, Operand from, int source, int lane, Lanes lanes) {
  if (!(lanes >> source & 1))
    warp.fault(code, lane, fmt::format("it takes a value from lane {}, which is not here", source));
  return warp.words[from.at + static_cast<uint32_t>(source)];
}

enum class Way : uint8_t { up, down, butterfly, index };

// choice: way. Operands: d, whether a lane was in range, a, b, c, members. c holds the last lane and, from bit 8 on,
// the bits of a lane's number that name its segment.
void shuffle(Warp& warp, const Code& code, Lanes mask) {
  const Operand *operands = warp.operands(code), *in = operands + 2;
  std::array<uint32_t, kLanes> out;
  Lanes in_range = 0;
  for_lanes(mask, [&](int lane) {
    const int b = static_cast<int>(warp.value(in[1], lane) & 31);
    const auto c = static_cast<int>(warp.value(in[2], lane));
    const int segment = c >> 8 & 31, most = (lane & segment) | (c & 31 & ~segment), least = lane & segment;
    int source = lane;
    bool inside = false;
    switch (static_cast<Way>(code.choice[0])) {
      case Way::up:
        source = lane - b, inside = source >= most;
        break;
      case Way::down:
        source = lane + b, inside = source <= most;
        break;
      case Way::butterfly:
        source = lane ^ b, inside = source <= most;
        break;
      case Way::index:
        source = least | (b & ~segment), inside = source <= most;
        break;
    }
    if (!inside) source = lane;
    in_range |= Lanes{inside} << lane;
    out[static_cast<size_t>(lane)] = value_of(warp, code, in[0], source, lane, mask);
  });
  for_lanes(mask, [&](int lane) {
    warp.words[operands[0].at + static_cast<uint32_t>(lane)] = out[static_cast<size_t>(lane)];
  });
  warp.write_predicate(operands[1], in_range, mask);
}
void decode_shfl(Decoder& d) {
  static constexpr std::string_view kWays[] = {"up", "down", "bfly", "idx"};
  if (!d.take("sync")) d.refuse(".sync is missing");
  const std::string_view way = d.take_word();
  const auto found = std::find(std::begin(kWays), std::end(kWays), way);
  if (found == std::end(kWays)) d.refuse(".up, .down, .bfly or .idx is missing");
  d.code.choice[0] = static_cast<uint8_t>(found - std::begin(kWays));
  const Type type = d.type();
  if (!type.is(Kind::b, 32)) d.refuse_type(type);
  d.expect(5);
  static const Argument sink{.name = "_"};
  const bool two = d.argument(0).is == Argument::Is::group;
  d.write(two ? d.group(0, 2)[0] : d.argument(0), 32);
  d.write(two ? d.group(0, 2)[1] : sink, 1);
  for (size_t i = 1; i < 5; ++i) d.read(i, 32);
  d.code.flow = Flow::members;
  d.finish(shuffle);
}

enum class Vote : uint8_t { all, any, uniform, ballot };

// choice: vote, whether the predicate is negated. Each lane votes among the members of its own mask.
void vote(Warp& warp, const Code& code, Lanes mask) {
  const Operand* operands = warp.operands(code);
  const Lanes says = warp.predicate(operands[1], code.choice[1]);
  for_lanes(mask, [&](int lane) {
    const Lanes members = static_cast<Lanes>(warp.value(operands[2], lane)) & mask, yes = says & members;
    switch (static_cast<Vote>(code.choice[0])) {
      case Vote::all:
        return warp.set_value(operands[0], lane, yes == members);
      case Vote::any:
        return warp.set_value(operands[0], lane, yes != 0);
      case Vote::uniform:
        return warp.set_value(operands[0], lane, yes == members || yes == 0);
      case Vote::ballot:
        return warp.set_value(operands[0], lane, yes);
    }
  });
}
void decode_vote(Decoder& d) {
  static constexpr std::string_view kVotes[] = {"all", "any", "uni", "ballot"};
  if (!d.take("sync")) d.refuse(".sync is missing");
  const std::string_view word = d.take_word();
  const auto found = std::find(std::begin(kVotes), std::end(kVotes), word);
  if (found == std::end(kVotes)) d.refuse(".all, .any, .uni or .ballot is missing");
  d.code.choice[0] = static_cast<uint8_t>(found - std::begin(kVotes));
  const bool ballot = word == "ballot";
  const Type type = d.type();
  if (ballot ? !type.is(Kind::b, 32) : type.kind != Kind::predicate) d.refuse_type(type);
  d.expect(3);
  d.write(0, ballot ? 32 : 1);
  d.read(1, 1);
  d.code.choice[1] = d.negated(1);
  d.read(2, 32);
  d.code.flow = Flow::members;
  d.finish(vote);
}

enum class Reduction : uint8_t { add, min, max, both, either, exclusive };

template <class T>
T reduce(Reduction how, T a, T b) {
  switch (how) {
    case Reduction::add:
      return static_cast<T>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
    case Reduction::min:
      return std::min(a, b);
    case Reduction::max:
      return std::max(a, b);
    case Reduction::both:
      return a & b;
    case Reduction::either:
      return a | b;
    default:
      return a ^ b;
  }
}
template <class T>
void reduce_warp(Warp& warp, const Code& code, Lanes mask) {
  const Operand* operands = warp.operands(code);
  std::array<uint32_t, kLanes> out;
  for_lanes(mask, [&](int lane) {
    const Lanes members = static_cast<Lanes>(warp.value(operands[2], lane)) & mask;
    auto sum = static_cast<T>(warp.words[operands[1].at + static_cast<uint32_t>(lane)]);
    for_lanes(members & ~(1u << lane), [&](int other) {
      sum = reduce(static_cast<Reduction>(code.choice[0]), sum,
                   static_cast<T>(warp.words[operands[1].at + static_cast<uint32_t>(other)]));
    });
    out[static_cast<size_t>(lane)] = static_cast<uint32_t>(sum);
  });
  for_lanes(mask, [&](int lane) {
    warp.words[operands[0].at + static_cast<uint32_t>(lane)] = out[static_cast<size_t>(lane)];
  });
}
void decode_redux(Decoder& d) {
  static constexpr std::string_view kNames[] = {"add", "min", "max", "and", "or", "xor"};
  if (!d.take("sync")) d.refuse(".sync is missing");
  const auto found = std::find(std::begin(kNames), std::end(kNames), d.take_word());
  if (found == std::end(kNames)) d.refuse("an operation is missing");
  const auto how = static_cast<size_t>(found - std::begin(kNames));
  d.code.choice[0] = static_cast<uint8_t>(how);
  const Type type = d.type();
  if (type.bits != 32 || !type.is_integer() || (how > 2) != (type.kind == Kind::b)) d.refuse_type(type);
  operands_of(d, 2, 32);
  d.code.flow = Flow::members;
  d.finish(type.kind == Kind::s ? reduce_warp<int32_t> : reduce_warp<uint32_t>);
}

// Lanes whose value is the same as one's own.
void match_any(Warp& warp, const Code& code, Lanes mask) {
  const Operand* operands = warp.operands(code);
  std::array<Lanes, kLanes> out;
  for_lanes(mask, [&](int lane) {
    Lanes same = 0;
    for_lanes(static_cast<Lanes>(warp.value(operands[2], lane)) & mask, [&](int other) {
      same |= Lanes{warp.value(operands[1], other) == warp.value(operands[1], lane)} << other;
    });
    out[static_cast<size_t>(lane)] = same;
  });
  for_lanes(mask, [&](int lane) { warp.set_value(operands[0], lane, out[static_cast<size_t>(lane)]); });
}
void decode_match(Decoder& d) {
  if (!d.take("any") || !d.take("sync")) d.refuse("known as match.any.sync");
  const Type type = d.type();
  if (type.kind != Kind::b || type.bits < 32) d.refuse_type(type);
  d.expect(3);
  d.write(0, 32);
  d.read(1, type.bits);
  d.read(2, 32);
  d.code.flow = Flow::members;
  d.finish(match_any);
}

void active_mask(Warp& warp, const Code& code, Lanes mask) {
  for_lanes(mask, [&](int lane) { warp.set_value(warp.operands(code)[0], lane, mask); });
}
void decode_activemask(Decoder& d) {
  const Type type = d.type();
  if (!type.is(Kind::b, 32)) d.refuse_type(type);
  d.expect(1);
  d.write(0, 32);
  d.finish(active_mask);
}

constexpr Opcode kOpcodes[] = {{"shfl", decode_shfl},
                               {"vote", decode_vote},
                               {"redux", decode_redux},
                               {"match", decode_match},
                               {"activemask", decode_activemask}};

}  // namespace

std::span<const Opcode> collective_opcodes() { return kOpcodes; }

}  // namespace hone::ptx
