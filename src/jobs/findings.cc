#include "jobs/findings.h"

#include <fmt/format.h>

#include <algorithm>

namespace hone {

constexpr const char* kSeverityNames[] = {"problem", "not examined", "slow", "note"};

void Findings::add(Severity severity, std::string what, std::string advice) {
  all_.push_back({severity, std::move(what), std::move(advice)});
}

int64_t Findings::count(Severity severity) const { return std::ranges::count(all_, severity, &Finding::severity); }

std::vector<std::string> Findings::texts() const {
  std::vector<Finding> sorted = all_;
  std::ranges::stable_sort(sorted, {}, &Finding::severity);
  std::vector<std::string> texts;
  for (const Finding& each : sorted)
    texts.push_back(fmt::format("{}: {}.{}{}", kSeverityNames[static_cast<size_t>(each.severity)], each.what,
                                each.advice.empty() ? "" : " Advice: ", each.advice));
  return texts;
}

}  // namespace hone
