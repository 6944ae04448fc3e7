#include "study/samplers/make_sampler.h"

#include <fmt/ranges.h>

#include "base/registry.h"
#include "base/text.h"
#include "study/samplers/registry.h"

namespace hone {

std::unique_ptr<Sampler> make_sampler(const std::string& name, uint64_t seed,
                                      const std::vector<std::pair<std::string, std::string>>& options) {
  const SamplerDef* def = find_def(samplers::all(), name);
  if (!def) {
    const std::vector<std::string> names = names_of(samplers::all());
    fail("unknown sampler {}; known: {}{}", name, fmt::join(names, ", "), did_you_mean(name, names));
  }
  std::any values = def->options->defaults();
  for (const auto& [option, value] : options) {
    try {
      def->options->set(values, option, {value});
    } catch (const Error& e) {
      fail("sampler {}: {}", name, e.what());
    }
  }
  return def->make(values, seed);
}

}  // namespace hone
