#include "jobs/untrained_lines.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace hone {
namespace {

constexpr size_t kNamed = 8;

bool is_expected(const StoredTensor& tensor) { return is_statistic(tensor) || is_literal(tensor); }

using ByReason = std::map<std::string, std::vector<const StoredTensor*>>;

// "a [4,4], b [4] and 3 more".
std::string names_of(const std::vector<const StoredTensor*>& tensors, const std::vector<Relaid>& relaid) {
  std::vector<std::string> names;
  for (const StoredTensor* tensor : tensors)
    if (names.size() < kNamed)
      names.push_back(
          fmt::format("{} [{}]", tensor->name, fmt::join(stored_shape(relaid, tensor->name, tensor->shape), ",")));
  const size_t left = tensors.size() - names.size();
  return fmt::format("{}{}", fmt::join(names, ", "), left == 0 ? "" : fmt::format(" and {} more", left));
}

}  // namespace

std::vector<std::string> untrained_lines(const std::vector<StoredTensor>& others, const std::vector<Relaid>& relaid) {
  ByReason by_reason;
  for (const StoredTensor& tensor : others)
    if (!is_expected(tensor)) by_reason[tensor.why_not].push_back(&tensor);
  std::vector<std::string> lines;
  for (const auto& [why, tensors] : by_reason)
    lines.push_back(fmt::format("{} tensor{} not trained: {} ({}{})", tensors.size(),
                                tensors.size() == 1 ? " is" : "s are", names_of(tensors, relaid), why,
                                tensors[0]->can_be ? "; --rule 'NAMES=trained' trains them" : ""));
  return lines;
}

std::vector<std::string> passed_over_lines(const std::vector<StoredTensor>& unseen, const std::vector<Relaid>& relaid,
                                           std::string_view how) {
  ByReason by_reason;
  for (const StoredTensor& tensor : unseen) by_reason[tensor.why_not].push_back(&tensor);
  std::vector<std::string> lines;
  for (const auto& [why, tensors] : by_reason)
    lines.push_back(fmt::format("{} weight{} {}: {} ({})", tensors.size(), tensors.size() == 1 ? " stays" : "s stay",
                                how, names_of(tensors, relaid), why));
  return lines;
}

}  // namespace hone
