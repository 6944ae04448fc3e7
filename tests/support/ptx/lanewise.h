// Instructions that do in each lane the same thing: lanewise<F, R, A...> is the handler of R = F{}(A...), whose
// operands are the result, then the arguments. F may ask for the Code first: for its rounding, say.
#pragma once

#include <algorithm>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tests/support/ptx/decoder.h"
#include "tests/support/ptx/numbers.h"
#include "tests/support/ptx/warp.h"

namespace hone::ptx {

template <class T>
using Element = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

template <class T>
T decoded(Element<T> bits) {
  if constexpr (std::is_integral_v<T>) return static_cast<T>(bits);
  else if constexpr (sizeof(T) == 2) return std::bit_cast<T>(static_cast<uint16_t>(bits));
  else return std::bit_cast<T>(bits);
}
template <class T>
Element<T> encoded(T value) {
  if constexpr (std::is_integral_v<T>) return static_cast<std::make_unsigned_t<T>>(value);
  else if constexpr (sizeof(T) == 2) return std::bit_cast<uint16_t>(value);
  else return std::bit_cast<Element<T>>(value);
}

template <class T>
auto* elements(Warp& warp, Operand operand) {
  if constexpr (sizeof(T) == 8) return warp.wide.data() + operand.at;
  else return warp.words.data() + operand.at;
}

template <class F, class R, class... A>
void lanewise(Warp& warp, const Code& code, Lanes mask) {
  const Operand* operands = warp.operands(code);
  Element<R>* out = elements<R>(warp, operands[0]);
  [&]<size_t... I>(std::index_sequence<I...>) {
    const std::tuple<const Element<A>*...> in{elements<A>(warp, operands[I + 1])...};
    const auto apply = [&](int lane) {
      if constexpr (std::is_invocable_v<F, const Code&, A...>)
        return encoded<R>(F{}(code, decoded<A>(std::get<I>(in)[lane])...));
      else return encoded<R>(F{}(decoded<A>(std::get<I>(in)[lane])...));
    };
    if (mask == kAllLanes) {
      std::array<Element<R>, kLanes> results;  // apart, so that the loop has nothing to wait for
      for (int lane = 0; lane < kLanes; ++lane) results[static_cast<size_t>(lane)] = apply(lane);
      std::copy(results.begin(), results.end(), out);
    } else {
      for_lanes(mask, [&](int lane) { out[lane] = apply(lane); });
    }
  }
  (std::index_sequence_for<A...>());
}

// The handler of N arguments of one type.
template <class F, int N, class T, class R = T>
constexpr Handler lanewise_of() {
  if constexpr (N == 1) return lanewise<F, R, T>;
  else if constexpr (N == 2) return lanewise<F, R, T, T>;
  else return lanewise<F, R, T, T, T>;
}

// By the type of an integer of 16, 32 or 64 bits; of others null.
template <class F, int N>
Handler of_signed(Type type) {
  return type.bits == 16   ? lanewise_of<F, N, int16_t>()
         : type.bits == 32 ? lanewise_of<F, N, int32_t>()
         : type.bits == 64 ? lanewise_of<F, N, int64_t>()
                           : nullptr;
}
template <class F, int N>
Handler of_unsigned(Type type) {
  return type.bits == 16   ? lanewise_of<F, N, uint16_t>()
         : type.bits == 32 ? lanewise_of<F, N, uint32_t>()
         : type.bits == 64 ? lanewise_of<F, N, uint64_t>()
                           : nullptr;
}
template <class F, int N>
Handler of_integer(Type type) {
  return type.kind == Type::Kind::s ? of_signed<F, N>(type) : of_unsigned<F, N>(type);
}

// d, a, … all of one width.
inline void operands_of(Decoder& d, int arguments, int bits) {
  d.expect(static_cast<size_t>(arguments) + 1);
  d.write(0, bits);
  for (int i = 1; i <= arguments; ++i) d.read(static_cast<size_t>(i), bits);
}

}  // namespace hone::ptx
