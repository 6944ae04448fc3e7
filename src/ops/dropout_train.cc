// dropout_train: what dropout does in training. The mask is a function of who asks, which layer at which step for which
// element of which sample, so that it depends neither on threads nor on how a batch is split, and need not be kept: the
// gradient is the same op on the result's gradient.
#include <array>
#include <cmath>

#include "ops/pointwise_args.h"

namespace hone {
namespace {

constexpr AttributeSpec kAttributes[] = {
    {"rate", AttributeKind::number, true, "share of the elements that become 0, at least 0 and below 1"}};

Expr integer_operand(Args a, size_t i) {
  if (a.dtypes[i] != DType::i64) fail("operand {} has elements of type {}; accepted: i64", i, to_string(a.dtypes[i]));
  return a[i];
}

// The first word of Philox::block(key, place, sample | step << 32) (base/philox.h).
Expr random_word(const Expr& key, const Expr& place, const Expr& sample, const Expr& step) {
  const auto low = [](const Expr& x) { return cast(Scalar::u32, x); };
  const auto high = [](const Expr& x) { return cast(Scalar::u32, x >> 32); };
  std::array<Expr, 4> c{low(place), high(place), low(sample), low(step)};
  Expr k0 = low(key), k1 = high(key);
  for (int round = 0; round < 10; ++round, k0 = k0 + 0x9e3779b9u, k1 = k1 + 0xbb67ae85u) {
    const Expr first = Expr::constant(Scalar::u32, 0xd2511f53), second = Expr::constant(Scalar::u32, 0xcd9e8d57);
    c = {mulhi(second, c[2]) ^ c[1] ^ k0, second * c[2], mulhi(first, c[0]) ^ c[3] ^ k1, first * c[0]};
  }
  return c[0];
}

Expr dropout_train(Args a) {
  const auto rate = a.attributes.get<double>("rate");
  if (!(rate >= 0 && rate < 1)) fail("rate is {}; accepted: at least 0 and below 1", rate);
  const Expr word =
      random_word(integer_operand(a, 1), integer_operand(a, 4), integer_operand(a, 3), integer_operand(a, 2));
  const auto least = static_cast<uint32_t>(std::min(std::round(rate * 0x1p32), 0x1p32 - 1));
  return select(word < Expr::constant(Scalar::u32, least), 0, real_operand(a, 0) * (1 / (1 - rate)));
}

}  // namespace

extern constinit const OpDef dropout_train_def{
    .name = "dropout_train",
    .doc =
        "x / (1 - rate), or 0 for a share `rate` of its elements: those whose Philox number under the key `seed` and "
        "the counter place (64 bits), sample, step (32 bits each) is small. All four are i64 and broadcast: seed, one "
        "of each layer, and step are numbers; sample counts through all samples of a step, whichever part of them x "
        "holds; place counts through the elements of a sample.",
    .operands = {"x", "seed", "step", "sample", "place"},
    .attributes = kAttributes,
    .pointwise = dropout_train};

}  // namespace hone
