#include "data/splits.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "base/error.h"
#include "base/hash.h"
#include "base/philox.h"

namespace hone {
namespace {

// Rows that go into one split together, each list ascending.
std::vector<std::vector<int64_t>> units_of(const Dataset& data, const std::vector<int64_t>& rows) {
  std::vector<std::vector<int64_t>> units;
  if (data.groups.empty()) {
    for (int64_t row : rows) units.push_back({row});
    return units;
  }
  std::map<int64_t, std::vector<int64_t>> groups;
  for (int64_t row : rows) groups[data.groups[static_cast<size_t>(row)]].push_back(row);
  for (auto& [group, members] : groups) units.push_back(std::move(members));
  return units;
}

}  // namespace

std::vector<int64_t> permutation(int64_t n, uint64_t seed, uint64_t epoch) {
  CHECK(n <= std::numeric_limits<uint32_t>::max());
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  Philox random(hash_text("permutation", seed), epoch);
  for (size_t left = order.size(); left > 1; --left)  // Fisher and Yates
    std::swap(order[left - 1], order[random.below(static_cast<uint32_t>(left))]);
  return order;
}

void split_off(Dataset& data, const std::string& name, double fraction, uint64_t seed) {
  if (!(fraction > 0 && fraction < 1))
    fail("the share of rows for {} is {}; accepted: between 0 and 1", name, fraction);
  if (data.find_split(name))
    fail("{}: has a split \"{}\" already, so no share of its rows can be taken for it", data.path, name);
  if (data.splits.empty()) {
    data.splits.push_back({"train", std::vector<int64_t>(static_cast<size_t>(data.rows))});
    std::iota(data.splits[0].rows.begin(), data.splits[0].rows.end(), 0);
  }
  const std::vector<int64_t> rows = data.split("train");
  const auto units = units_of(data, rows);
  const auto wanted = static_cast<size_t>(std::llround(fraction * static_cast<double>(rows.size())));
  Split part{name, {}}, rest{"train", {}};
  for (int64_t u : permutation(std::ssize(units), hash_text(name, seed), 0)) {
    const std::vector<int64_t>& unit = units[static_cast<size_t>(u)];
    std::vector<int64_t>& side = part.rows.size() + unit.size() <= wanted ? part.rows : rest.rows;
    side.insert(side.end(), unit.begin(), unit.end());
  }
  if (part.rows.empty() || rest.rows.empty())
    fail("{}: {} of {} rows{} leaves {} for {} and {} for train; give another share", data.path, fraction, rows.size(),
         data.groups.empty() ? "" : fmt::format(" in {} groups", units.size()), part.rows.size(), name,
         rest.rows.size());
  std::ranges::sort(part.rows);
  std::ranges::sort(rest.rows);
  std::ranges::find(data.splits, "train", &Split::name)->rows = std::move(rest.rows);
  data.splits.push_back(std::move(part));
}

}  // namespace hone
