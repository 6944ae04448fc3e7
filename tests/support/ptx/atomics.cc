// atom and red: one lane after the other, ascending. In global memory they are atomic for other launches as well.
#include <cstring>
#include <functional>

#include "tests/support/ptx/access.h"
#include "tests/support/ptx/lanewise.h"

namespace hone::ptx {
namespace {

using Kind = Type::Kind;

enum class Update : uint8_t { add, min, max, both, either, exclusive, exchange, swap_if, increment, decrement };

template <class T>
T updated(Update how, T old, T b, T c, bool flushes) {
  if constexpr (std::is_same_v<T, float>)
    return flushes ? flushed(canonical(flushed(old) + flushed(b))) : canonical(old + b);
  else if constexpr (std::is_same_v<T, double>) return old + b;
  else {
    using U = std::make_unsigned_t<T>;
    switch (how) {
      case Update::add:
        return static_cast<T>(static_cast<U>(old) + static_cast<U>(b));
      case Update::min:
        return std::min(old, b);
      case Update::max:
        return std::max(old, b);
      case Update::both:
        return old & b;
      case Update::either:
        return old | b;
      case Update::exclusive:
        return old ^ b;
      case Update::exchange:
        return b;
      case Update::swap_if:
        return old == b ? c : old;
      case Update::increment:
        return static_cast<U>(old) >= static_cast<U>(b) ? T{0} : static_cast<T>(old + 1);
      case Update::decrement:
        return old == 0 || static_cast<U>(old) > static_cast<U>(b) ? b : static_cast<T>(old - 1);
    }
    return old;
  }
}

// choice: update, whether the old value is asked for.
template <class T>
void update(Warp& warp, const Code& code, Lanes mask) {
  const Operand* operands = warp.operands(code);
  const Operand *out = code.choice[1] ? operands : nullptr, *in = operands + code.choice[1];
  const auto how = static_cast<Update>(code.choice[0]);
  Reached reached;
  addresses(warp, code, in[0], mask, reached.address);
  reach(warp, code, mask, code.space, sizeof(T), Touch::update, reached);
  for_lanes(mask, [&](int lane) {
    const T b = decoded<T>(static_cast<Element<T>>(warp.value(in[1], lane)));
    const T c = how == Update::swap_if ? decoded<T>(static_cast<Element<T>>(warp.value(in[2], lane))) : T{};
    auto* cell = reinterpret_cast<Element<T>*>(reached.host[static_cast<size_t>(lane)]);
    Element<T> old = __atomic_load_n(cell, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(cell, &old,
                                        encoded<T>(updated<T>(how, decoded<T>(old), b, c, code.space != Space::shared)),
                                        false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
    }
    if (out) warp.set_value(*out, lane, old);
  });
}

Handler update_of(Update how, Type type) {
  const bool adds = how == Update::add, orders = how == Update::min || how == Update::max;
  const bool wraps = how == Update::increment || how == Update::decrement;
  if (type.lanes != 1) return nullptr;
  if (type.kind == Kind::f)
    return !adds ? nullptr : type.bits == 32 ? update<float> : type.bits == 64 ? update<double> : nullptr;
  if (type.kind == Kind::b ? adds || orders || wraps : !adds && !orders && !wraps) return nullptr;
  if (wraps) return type.is(Kind::u, 32) ? update<uint32_t> : nullptr;
  if (type.kind == Kind::s) return type.bits == 32 ? update<int32_t> : type.bits == 64 ? update<int64_t> : nullptr;
  return type.bits == 32 ? update<uint32_t> : type.bits == 64 ? update<uint64_t> : nullptr;
}

void decode_update(Decoder& d, bool asks) {
  static constexpr std::string_view kNames[] = {"add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec"};
  d.take_any({"relaxed", "acquire", "release", "acq_rel"});
  d.take_any({"cta", "cluster", "gpu", "sys"});
  d.code.space = take_space(d);
  d.take_any({"cta", "cluster", "gpu", "sys"});
  const auto found = std::find(std::begin(kNames), std::end(kNames), d.take_word());
  if (found == std::end(kNames)) d.refuse("the operation is not known");
  const auto how = static_cast<Update>(found - std::begin(kNames));
  const bool swaps = how == Update::swap_if;
  d.take("noftz");
  const Type type = d.type();
  const Handler handler = update_of(how, type);
  const bool in_memory =
      d.code.space == Space::generic || d.code.space == Space::global || d.code.space == Space::shared;
  if (!handler || !in_memory || (!asks && swaps)) d.refuse_type(type);
  d.expect(static_cast<size_t>(asks) + (swaps ? 3 : 2));
  d.code.choice = {static_cast<uint8_t>(how), asks};
  if (asks) d.write(0, type.bits);
  d.address(asks);
  for (size_t i = static_cast<size_t>(asks) + 1; i < d.count(); ++i) d.read(i, type.bits);
  d.finish(handler);
}
void decode_atom(Decoder& d) { decode_update(d, true); }
void decode_red(Decoder& d) { decode_update(d, false); }

constexpr Opcode kOpcodes[] = {{"atom", decode_atom}, {"red", decode_red}};

}  // namespace

std::span<const Opcode> atomic_opcodes() { return kOpcodes; }

}  // namespace hone::ptx
