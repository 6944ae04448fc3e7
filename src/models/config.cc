#include "models/config.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/error.h"

namespace hone {

bool ModelConfig::has(const std::string& key) const {
  return json_.is_object() && json_.contains(key) && !json_.at(key).is_null();
}

namespace {
constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
constexpr int64_t kMostLayers = 1000;  // far above what anyone builds, far below what would never end
bool is_size(const Json& value) { return value.is_number_integer() && value >= 1 && value <= kMost; }
}  // namespace

int64_t ModelConfig::size(const std::string& key) const {
  const Json value = json_get<Json>(json_, key, source_);
  if (!is_size(value))
    fail("{}: key \"{}\" is {}; accepted: an integer from 1 to {}", source_, key, json_excerpt(value), kMost);
  return value.get<int64_t>();
}

int64_t ModelConfig::layers(const std::string& key) const {
  const int64_t count = size(key);
  if (count > kMostLayers) fail("{}: key \"{}\" is {}; accepted: 1 to {}", source_, key, count, kMostLayers);
  return count;
}

std::vector<int64_t> ModelConfig::sizes(const std::string& key) const {
  const Json list = json_get<Json>(json_, key, source_);
  if (!list.is_array() || list.empty() || list.size() > kMostLayers || !std::all_of(list.begin(), list.end(), is_size))
    fail("{}: key \"{}\" is {}; accepted: a list of integers from 1 to {}, at most {} of them", source_, key,
         json_excerpt(list), kMost, kMostLayers);
  return list.get<std::vector<int64_t>>();
}

std::vector<int64_t> ModelConfig::depths(const std::string& key) const {
  const std::vector<int64_t> list = sizes(key);
  const int64_t sum = std::accumulate(list.begin(), list.end(), int64_t{0});  // of at most 1000 below 2^31
  if (sum > kMostLayers)
    fail("{}: key \"{}\" asks for {} blocks in all; accepted: at most {}", source_, key, sum, kMostLayers);
  return list;
}

int64_t ModelConfig::size_or(const std::string& key, int64_t fallback) const { return has(key) ? size(key) : fallback; }

int64_t ModelConfig::size_unless_none(const std::string& key, int64_t none) const {
  return has(key) && json_.at(key).is_number_integer() && json_.at(key) < 1 ? none : size_or(key, none);
}

double ModelConfig::number_or(const std::string& key, double fallback) const {
  if (!has(key)) return fallback;
  if (!json_.at(key).is_number())
    fail("{}: key \"{}\" is {}; accepted: a number", source_, key, json_excerpt(json_.at(key)));
  return json_.at(key).get<double>();
}

std::string ModelConfig::text_or(const std::string& key, const std::string& fallback) const {
  if (!has(key)) return fallback;
  if (!json_.at(key).is_string())
    fail("{}: key \"{}\" is {}; accepted: a string", source_, key, json_excerpt(json_.at(key)));
  return json_.at(key).get<std::string>();
}

bool ModelConfig::flag(const std::string& key, bool fallback) const {
  if (!has(key)) return fallback;
  if (!json_.at(key).is_boolean())
    fail("{}: key \"{}\" is {}; accepted: true, false", source_, key, json_excerpt(json_.at(key)));
  return json_.at(key).get<bool>();
}

}  // namespace hone
