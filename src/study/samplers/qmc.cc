// Sobol's sequence, scrambled by the seed: points that fill a space of several parameters more evenly than random ones.
// Trial n gets point n, so that workers need not agree on who takes which.
//
// Joe and Kuo, "Constructing Sobol sequences with better two-dimensional projections" (2008), whose direction numbers
// these are; Burley, "Practical hash-based Owen scrambling" (2020).
#include <array>

#include "base/error.h"
#include "base/hash.h"
#include "study/sampler.h"

namespace hone {
namespace {

struct Direction32 {
  uint32_t polynomial;              // over GF(2), its highest bit the degree
  std::array<uint16_t, 9> initial;  // as many as the degree
};

// Of the second dimension and those after it; the first is the reversal of bits alone.
constexpr Direction32 kDirections[] = {
    {3, {1}},
    {7, {1, 3}},
    {11, {1, 3, 1}},
    {13, {1, 1, 1}},
    {19, {1, 1, 3, 3}},
    {25, {1, 3, 5, 13}},
    {37, {1, 1, 5, 5, 17}},
    {41, {1, 1, 5, 5, 5}},
    {47, {1, 1, 7, 11, 19}},
    {55, {1, 1, 5, 1, 1}},
    {59, {1, 1, 1, 3, 11}},
    {61, {1, 3, 5, 5, 31}},
    {67, {1, 3, 3, 9, 7, 49}},
    {91, {1, 1, 1, 15, 21, 21}},
    {97, {1, 3, 1, 13, 27, 49}},
    {103, {1, 1, 1, 15, 7, 5}},
    {109, {1, 3, 1, 15, 13, 25}},
    {115, {1, 1, 5, 5, 19, 61}},
    {131, {1, 3, 7, 11, 23, 15, 103}},
    {137, {1, 3, 7, 13, 13, 15, 69}},
    {143, {1, 1, 3, 13, 7, 35, 63}},
    {145, {1, 3, 5, 9, 1, 25, 53}},
    {157, {1, 3, 1, 13, 9, 35, 107}},
    {167, {1, 3, 1, 5, 27, 61, 31}},
    {171, {1, 1, 5, 11, 19, 41, 61}},
    {185, {1, 3, 5, 3, 3, 13, 69}},
    {191, {1, 1, 7, 13, 1, 19, 1}},
    {193, {1, 3, 7, 5, 13, 19, 59}},
    {203, {1, 1, 3, 9, 25, 29, 41}},
    {211, {1, 3, 5, 13, 23, 1, 55}},
    {213, {1, 3, 7, 3, 13, 59, 17}},
    {229, {1, 3, 1, 3, 5, 53, 69}},
    {239, {1, 1, 5, 5, 23, 33, 13}},
    {241, {1, 1, 7, 7, 1, 61, 123}},
    {247, {1, 1, 7, 9, 13, 61, 49}},
    {253, {1, 3, 3, 5, 3, 55, 33}},
    {285, {1, 3, 1, 15, 31, 13, 49, 245}},
    {299, {1, 3, 5, 15, 31, 59, 63, 97}},
    {301, {1, 3, 1, 11, 11, 11, 77, 249}},
    {333, {1, 3, 1, 11, 27, 43, 71, 9}},
    {351, {1, 1, 7, 15, 21, 11, 81, 45}},
    {355, {1, 3, 7, 3, 25, 31, 65, 79}},
    {357, {1, 3, 1, 1, 19, 11, 3, 205}},
    {361, {1, 1, 5, 9, 19, 21, 29, 157}},
    {369, {1, 3, 7, 11, 1, 33, 89, 185}},
    {391, {1, 3, 3, 3, 15, 9, 79, 71}},
    {397, {1, 3, 7, 11, 15, 39, 119, 27}},
    {425, {1, 1, 3, 1, 11, 31, 97, 225}},
    {451, {1, 1, 1, 3, 23, 43, 57, 177}},
    {463, {1, 3, 7, 7, 17, 17, 37, 71}},
    {487, {1, 3, 1, 5, 27, 63, 123, 213}},
    {501, {1, 1, 3, 5, 11, 43, 53, 133}},
    {529, {1, 3, 5, 5, 29, 17, 47, 173, 479}},
    {539, {1, 3, 3, 11, 3, 1, 109, 9, 69}},
    {545, {1, 1, 1, 5, 17, 39, 23, 5, 343}},
    {557, {1, 3, 1, 5, 25, 15, 31, 103, 499}},
    {563, {1, 1, 1, 11, 11, 17, 63, 105, 183}},
    {601, {1, 1, 5, 11, 9, 29, 97, 231, 363}},
    {607, {1, 1, 5, 15, 19, 45, 41, 7, 383}},
    {617, {1, 3, 7, 7, 31, 19, 83, 137, 221}},
    {623, {1, 1, 1, 3, 23, 15, 111, 223, 83}},
    {631, {1, 1, 5, 13, 31, 15, 55, 25, 161}},
    {637, {1, 1, 3, 13, 25, 47, 39, 87, 257}},
};
constexpr size_t kDimensions = std::size(kDirections) + 1;

struct QmcOptions {
  bool scramble = true;
  static constexpr const char* kPass = "qmc";
  static std::span<const OptionField<QmcOptions>> fields();
};

constexpr OptionField<QmcOptions> kFields[] = {
    {"scramble", "shuffles the sequence by the seed; without it all studies have the same points",
     &QmcOptions::scramble},
};

std::array<uint32_t, 32> direction_numbers(size_t dimension) {
  std::array<uint32_t, 32> v{};
  if (dimension == 0) {
    for (uint32_t i = 0; i < 32; ++i) v[i] = 1U << (31 - i);
    return v;
  }
  const auto& [polynomial, initial] = kDirections[dimension - 1];
  uint32_t degree = 0;
  while (polynomial >> (degree + 1)) ++degree;
  for (uint32_t i = 0; i < degree; ++i) v[i] = static_cast<uint32_t>(initial[i]) << (31 - i);
  for (uint32_t i = degree; i < 32; ++i) {
    v[i] = v[i - degree] ^ (v[i - degree] >> degree);
    for (uint32_t k = 1; k < degree; ++k)
      if (polynomial >> (degree - k) & 1) v[i] ^= v[i - k];
  }
  return v;
}

uint32_t sobol(size_t dimension, uint32_t index) {
  static const auto tables = [] {
    std::array<std::array<uint32_t, 32>, kDimensions> all{};
    for (size_t d = 0; d < kDimensions; ++d) all[d] = direction_numbers(d);
    return all;
  }();
  uint32_t x = 0;
  for (uint32_t bit = 0; index; ++bit, index >>= 1)
    if (index & 1) x ^= tables[dimension][bit];
  return x;
}

uint32_t reversed(uint32_t x) {
  x = x >> 16 | x << 16;
  x = (x & 0x00ff00ff) << 8 | (x & 0xff00ff00) >> 8;
  x = (x & 0x0f0f0f0f) << 4 | (x & 0xf0f0f0f0) >> 4;
  x = (x & 0x33333333) << 2 | (x & 0xcccccccc) >> 2;
  return (x & 0x55555555) << 1 | (x & 0xaaaaaaaa) >> 1;
}

// Owen's scrambling: a bit is flipped depending on those above it, which a hash that only carries upwards does to the
// reversed number.
uint32_t scrambled(uint32_t x, uint32_t seed) {
  x = reversed(x);
  x += seed;
  x ^= x * 0x6c50b47cU;
  x ^= x * 0xb82f1e52U;
  x ^= x * 0xc7afe638U;
  x ^= x * 0x8d22f6e6U;
  return reversed(x);
}

class QmcSampler : public Sampler {
 public:
  QmcSampler(const QmcOptions& options, uint64_t seed) : scramble_(options.scramble), seed_(seed) {}

  bool reads_trials() const override { return false; }
  double independent(const SampleContext& context, const std::string& name,
                     const DistributionPtr& distribution) override {
    size_t dimension = context.trial.parameters.size();
    if (context.space) dimension = static_cast<size_t>(context.space->find(name) - context.space->parameters().data());
    // A point that violates constraints is replaced by a random one.
    if (dimension >= kDimensions || context.attempt > 0) return uniform_value(*distribution, context.rng);
    uint32_t x = sobol(dimension, static_cast<uint32_t>(context.trial.number));
    if (scramble_) x = scrambled(x, static_cast<uint32_t>(hash_text(std::to_string(dimension), seed_)));
    return value_at_quantile(*distribution, x * 0x1p-32);
  }

 private:
  bool scramble_;
  uint64_t seed_;
};

}  // namespace

std::span<const OptionField<QmcOptions>> QmcOptions::fields() { return kFields; }

extern constinit const SamplerDef qmc_sampler_def{
    .name = "qmc",
    .doc = "Sobol's sequence over the first 64 parameters",
    .options = &option_table<QmcOptions>,
    .make = [](const std::any& options, uint64_t seed) -> std::unique_ptr<Sampler> {
      return std::make_unique<QmcSampler>(std::any_cast<const QmcOptions&>(options), seed);
    }};

}  // namespace hone
