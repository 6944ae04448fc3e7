// An example of a sampler: the middle of every range, over and over.
#include "study/no_options.h"
#include "study/sampler.h"

namespace hone {
namespace {

class MiddleSampler : public Sampler {
 public:
  double independent(const SampleContext&, const std::string&, const DistributionPtr& distribution) override {
    return value_at_quantile(*distribution, 0.5);
  }
};

}  // namespace

extern constinit const SamplerDef middle_sampler_def{
    .name = "middle",
    .doc = "the middle of every range",
    .options = &option_table<NoOptions>,
    .make = [](const std::any&, uint64_t) -> std::unique_ptr<Sampler> { return std::make_unique<MiddleSampler>(); }};

}  // namespace hone
