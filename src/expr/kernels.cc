// The loops over blocks. A full block has a constant trip count, which lets the compiler vectorise without a cost model
// of tails.
#include "expr/kernels.h"

#include <bit>
#include <cstring>

#include "base/error.h"
#include "expr/semantics.h"

namespace hone {
namespace {

using namespace semantics;

template <class Body>
void for_each(int64_t n, Body body) {
  if (n == kBlockElems) {
    for (int64_t i = 0; i < kBlockElems; ++i) body(i);
  } else {
    for (int64_t i = 0; i < n; ++i) body(i);
  }
}

template <class Op, class T>
void unary(void* dst, const void* a, const void*, const void*, int64_t n) {
  using Result = decltype(Op::apply(T{}));
  Result* __restrict out = static_cast<Result*>(dst);
  const T* x = static_cast<const T*>(a);
  for_each(n, [=](int64_t i) { out[i] = Op::apply(x[i]); });
}

template <class Op, class T>
void binary(void* dst, const void* a, const void* b, const void*, int64_t n) {
  using Result = decltype(Op::apply(T{}, T{}));
  Result* __restrict out = static_cast<Result*>(dst);
  const T *x = static_cast<const T*>(a), *y = static_cast<const T*>(b);
  for_each(n, [=](int64_t i) { out[i] = Op::apply(x[i], y[i]); });
}

template <class T>
void select_loop(void* dst, const void* a, const void* b, const void* c, int64_t n) {
  T* __restrict out = static_cast<T*>(dst);
  const Boolean* condition = static_cast<const Boolean*>(a);
  const T *x = static_cast<const T*>(b), *y = static_cast<const T*>(c);
  for_each(n, [=](int64_t i) { out[i] = Select::apply(condition[i], x[i], y[i]); });
}

template <class T>
void fma_loop(void* dst, const void* a, const void* b, const void* c, int64_t n) {
  T* __restrict out = static_cast<T*>(dst);
  const T *x = static_cast<const T*>(a), *y = static_cast<const T*>(b), *z = static_cast<const T*>(c);
  for_each(n, [=](int64_t i) { out[i] = Fma::apply(x[i], y[i], z[i]); });
}

template <class T>
void lookup_loop(void* dst, const void* a, const void* b, const void*, int64_t n) {
  T* __restrict out = static_cast<T*>(dst);
  const uint32_t* positions = static_cast<const uint32_t*>(a);
  const auto [entries, size] = *static_cast<const LookupTable*>(b);
  const uint64_t mask = std::bit_ceil(size) - 1;
  for (int64_t i = 0; i < n; ++i) {
    const uint64_t position = positions[i] & mask;
    out[i] = from_bits<T>(position < size ? entries[position] : 0);
  }
}

template <class... Ts>
struct Types {};
using Floats = Types<float, double>;
using Ints = Types<int32_t, uint32_t, int64_t, uint64_t>;
using Numbers = Types<float, double, int32_t, uint32_t, int64_t, uint64_t>;
using Discrete = Types<int32_t, uint32_t, int64_t, uint64_t, Boolean>;
using All = Types<float, double, int32_t, uint32_t, int64_t, uint64_t, Boolean>;

// choose(T{}) for the T among Ts that is `type`; null when none is.
template <class... Ts, class Choose>
Kernel among(Types<Ts...>, Scalar type, Choose choose) {
  Kernel kernel = nullptr;
  ((type == scalar_of<Ts>() ? void(kernel = choose(Ts{})) : void()), ...);
  return kernel;
}

template <class Op, class Set>
Kernel unary_of(Scalar type) {
  return among(Set{}, type, [](auto t) -> Kernel { return unary<Op, decltype(t)>; });
}

template <class Op, class Set>
Kernel binary_of(Scalar type) {
  return among(Set{}, type, [](auto t) -> Kernel { return binary<Op, decltype(t)>; });
}

Kernel cast_kernel(Scalar to, Scalar from) {
  return among(All{}, to, [from](auto t) -> Kernel { return unary_of<Cast<decltype(t)>, All>(from); });
}

Kernel bitcast_kernel(Scalar to, Scalar from) {
  if (width_bits(to) != width_bits(from)) return nullptr;
  switch (width_bits(to)) {  // equal patterns: copied as unsigned words
    case 32:
      return unary<Bitcast<uint32_t>, uint32_t>;
    case 64:
      return unary<Bitcast<uint64_t>, uint64_t>;
    default:
      return nullptr;
  }
}

Kernel same_type_kernel(ExprOp op, Scalar type) {
  switch (op) {
    case ExprOp::neg:
      return unary_of<Neg, Numbers>(type);
    case ExprOp::abs:
      return unary_of<Abs, Numbers>(type);
    case ExprOp::floor:
      return unary_of<Floor, Floats>(type);
    case ExprOp::ceil:
      return unary_of<Ceil, Floats>(type);
    case ExprOp::trunc:
      return unary_of<Trunc, Floats>(type);
    case ExprOp::rint:
      return unary_of<Rint, Floats>(type);
    case ExprOp::sqrt:
      return unary_of<Sqrt, Floats>(type);
    case ExprOp::exp:
      return unary_of<Exp, Floats>(type);
    case ExprOp::log:
      return unary_of<Log, Floats>(type);
    case ExprOp::tanh:
      return unary_of<Tanh, Floats>(type);
    case ExprOp::erf:
      return unary_of<Erf, Floats>(type);
    case ExprOp::sin:
      return unary_of<Sin, Floats>(type);
    case ExprOp::cos:
      return unary_of<Cos, Floats>(type);
    case ExprOp::bit_not:
      return unary_of<BitNot, Discrete>(type);
    case ExprOp::add:
      return binary_of<Add, Numbers>(type);
    case ExprOp::sub:
      return binary_of<Sub, Numbers>(type);
    case ExprOp::mul:
      return binary_of<Mul, Numbers>(type);
    case ExprOp::div:
      return binary_of<Div, Numbers>(type);
    case ExprOp::rem:
      return binary_of<Rem, Ints>(type);
    case ExprOp::min:
      return binary_of<Min, Numbers>(type);
    case ExprOp::max:
      return binary_of<Max, Numbers>(type);
    case ExprOp::pow:
      return binary_of<Pow, Floats>(type);
    case ExprOp::mulhi:
      return binary_of<Mulhi, Ints>(type);
    case ExprOp::bit_and:
      return binary_of<BitAnd, Discrete>(type);
    case ExprOp::bit_or:
      return binary_of<BitOr, Discrete>(type);
    case ExprOp::bit_xor:
      return binary_of<BitXor, Discrete>(type);
    case ExprOp::shl:
      return binary_of<Shl, Ints>(type);
    case ExprOp::shr:
      return binary_of<Shr, Ints>(type);
    case ExprOp::select:
      return among(All{}, type, [](auto t) -> Kernel { return select_loop<decltype(t)>; });
    case ExprOp::fma:
      return among(Floats{}, type, [](auto t) -> Kernel { return fma_loop<decltype(t)>; });
    case ExprOp::lookup:
      return among(All{}, type, [](auto t) -> Kernel { return lookup_loop<decltype(t)>; });
    default:
      return nullptr;
  }
}

Kernel comparison_kernel(ExprOp op, Scalar operand) {
  switch (op) {
    case ExprOp::eq:
      return binary_of<Eq, All>(operand);
    case ExprOp::ne:
      return binary_of<Ne, All>(operand);
    case ExprOp::lt:
      return binary_of<Lt, Numbers>(operand);
    case ExprOp::le:
      return binary_of<Le, Numbers>(operand);
    default:
      return nullptr;
  }
}

}  // namespace

Kernel find_kernel(ExprOp op, Scalar type, Scalar operand) {
  if (op == ExprOp::cast) return cast_kernel(type, operand);
  if (op == ExprOp::bitcast) return bitcast_kernel(type, operand);
  if (Kernel kernel = comparison_kernel(op, operand)) return type == Scalar::boolean ? kernel : nullptr;
  return type == operand ? same_type_kernel(op, type) : nullptr;
}

int operand_count(ExprOp op) {
  if (op <= ExprOp::index) return 0;
  if (op <= ExprOp::lookup) return 1;
  return op < ExprOp::select ? 2 : 3;
}

uint64_t fold(ExprOp op, Scalar type, Scalar operand, std::span<const uint64_t> operands,
              std::span<const uint64_t> table) {
  struct alignas(8) Cell {
    std::byte bytes[8] = {};
  };
  Cell cells[3], result;
  const void* pointers[3] = {};
  CHECK(operands.size() <= 3);
  for (size_t i = 0; i < operands.size(); ++i) {
    std::memcpy(cells[i].bytes, &operands[i], 8);
    pointers[i] = cells[i].bytes;
  }
  const LookupTable lookup{table.data(), table.size()};
  if (op == ExprOp::lookup) pointers[1] = &lookup;
  const Kernel kernel = find_kernel(op, type, operand);
  CHECK(kernel, "{} from {} to {}", to_string(op), to_string(operand), to_string(type));
  kernel(result.bytes, pointers[0], pointers[1], pointers[2], 1);
  uint64_t bits;
  std::memcpy(&bits, result.bytes, 8);
  return bits;
}

}  // namespace hone
