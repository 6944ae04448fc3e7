#include "jobs/findings.h"

#include <algorithm>
#include <array>

namespace hone {

const char* to_string(Severity severity) {
  return std::array{"problem", "not examined", "slow", "note"}[static_cast<size_t>(severity)];
}

void Findings::add(Severity severity, std::string what, std::string advice) {
  all_.push_back({severity, std::move(what), std::move(advice)});
}

std::vector<Finding> Findings::sorted() const {
  std::vector<Finding> sorted = all_;
  std::ranges::stable_sort(sorted, {}, &Finding::severity);
  return sorted;
}

}  // namespace hone
