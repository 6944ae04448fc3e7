#include "views/saved_model.h"

#include <fmt/format.h>

#include "base/text.h"
#include "io/tokenizer_files.h"

namespace hone {

std::vector<std::string> findings_of(const SavedModel& saved, const std::string& path) {
  std::vector<std::string> findings{fmt::format("{}: {}", path, saved.check)};
  findings.insert(findings.end(), saved.notes.begin(), saved.notes.end());
  return findings;
}

void add_check(Record& record, const std::string& path, const SavedModel& saved) {
  for (std::string& finding : findings_of(saved, path)) record.findings.push_back(std::move(finding));
}

std::string size_finding(const std::string& path, const SavedModel& saved, const Model& source) {
  const int64_t original = original_bytes(path, source);
  return fmt::format("{}: {}, {:.1f} % of {}'s {} (whole files, {}what is not packed included)", path,
                     human_bytes(static_cast<double>(saved.bytes)),
                     100.0 * static_cast<double>(saved.bytes) / static_cast<double>(original), source.name,
                     human_bytes(static_cast<double>(original)),
                     source.is_folder() && has_tokenizer(source.files) ? "the tokenizer and " : "");
}

}  // namespace hone
