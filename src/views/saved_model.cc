#include "views/saved_model.h"

#include <fmt/format.h>

namespace hone {

std::vector<std::string> findings_of(const SavedModel& saved, const std::string& path) {
  std::vector<std::string> findings{fmt::format("{}: {}", path, saved.check)};
  findings.insert(findings.end(), saved.notes.begin(), saved.notes.end());
  return findings;
}

}  // namespace hone
