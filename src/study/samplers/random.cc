// Each parameter drawn by itself: uniform over its range, or over the logarithm of it.
#include "study/no_options.h"
#include "study/sampler.h"

namespace hone {
namespace {

class RandomSampler : public Sampler {
 public:
  double independent(const SampleContext& context, const std::string&, const DistributionPtr& distribution) override {
    return uniform_value(*distribution, context.rng);
  }
  bool reads_trials() const override { return false; }
};

}  // namespace

extern constinit const SamplerDef random_sampler_def{
    .name = "random",
    .doc = "uniform draws, of logarithms where a range has log",
    .options = &option_table<NoOptions>,
    .make = [](const std::any&, uint64_t) -> std::unique_ptr<Sampler> { return std::make_unique<RandomSampler>(); }};

}  // namespace hone
