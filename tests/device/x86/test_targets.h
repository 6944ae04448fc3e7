// What kernels are tested on: the levels of this CPU, and what lies between them where code differs.
#pragma once

#include <vector>

#include "tests/support/emulated_tiles.h"

namespace hone {

inline std::vector<X86Target> test_targets() {
  std::vector<X86Target> targets = target_levels();
  const Features host = cpu_features();
  // Byte permutes are missing on the first CPUs with AVX-512.
  if (host.has(Feature::avx512_vbmi)) targets.push_back(X86Target(host.without(Feature::avx512_vbmi)));
  if (!targets.empty()) {
    const X86Target lowest = targets.front();
    targets.push_back(with_emulated_tiles(targets.back()));
    if (lowest.lanes() != targets.back().lanes()) targets.push_back(with_emulated_tiles(lowest));
  }
  // Pairs that are taken apart although there is a dot product.
  if (host.has(Feature::avx512_bf16)) targets.push_back(X86Target(host, microarchitecture("sapphire_rapids")));
  return targets;
}

// A level and, where that tells it from others, its rates.
inline std::string name_of(const X86Target& target) {
  return to_string(target) + " as " + std::string(target.rates().name);
}

}  // namespace hone
