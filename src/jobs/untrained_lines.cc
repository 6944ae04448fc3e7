#include "jobs/untrained_lines.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace hone {
namespace {

constexpr size_t kNamed = 8;

bool is_expected(const StoredTensor& tensor) { return is_statistic(tensor) || is_literal(tensor); }

}  // namespace

std::vector<std::string> untrained_lines(const std::vector<StoredTensor>& others, const std::vector<Relaid>& relaid) {
  std::map<std::string, std::vector<const StoredTensor*>> by_reason;
  for (const StoredTensor& tensor : others)
    if (!is_expected(tensor)) by_reason[tensor.why_not].push_back(&tensor);
  std::vector<std::string> lines;
  for (const auto& [why, tensors] : by_reason) {
    std::vector<std::string> names;
    for (const StoredTensor* tensor : tensors)
      if (names.size() < kNamed)
        names.push_back(
            fmt::format("{} [{}]", tensor->name, fmt::join(stored_shape(relaid, tensor->name, tensor->shape), ",")));
    const size_t left = tensors.size() - names.size();
    lines.push_back(fmt::format("{} tensor{} not trained: {}{} ({}{})", tensors.size(),
                                tensors.size() == 1 ? " is" : "s are", fmt::join(names, ", "),
                                left == 0 ? "" : fmt::format(" and {} more", left), why,
                                tensors[0]->can_be ? "; --rule 'NAMES=trained' trains them" : ""));
  }
  return lines;
}

}  // namespace hone
