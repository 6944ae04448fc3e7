// What builders read from config.json, with errors that name the file, the key, what was found and what would be
// accepted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/settings.h"
#include "models/registry.h"

namespace hone {

class ModelConfig {
 public:
  explicit ModelConfig(const ModelRequest& request) : ModelConfig(request.config, request.source) {}
  ModelConfig(const Json& json, const std::string& source) : json_(json), source_(source) {}  // both must outlive it

  bool has(const std::string& key) const;        // present and not null
  int64_t size(const std::string& key) const;    // an integer from 1 to 2^31 - 1
  int64_t layers(const std::string& key) const;  // how often something is repeated: an integer from 1 to 1000
  int64_t size_or(const std::string& key, int64_t fallback) const;
  // For keys that say "none" by a number below 1, or by being absent: `none` then.
  int64_t size_unless_none(const std::string& key, int64_t none) const;
  std::vector<int64_t> sizes(const std::string& key) const;   // a list of 1 to 1000 such integers
  std::vector<int64_t> depths(const std::string& key) const;  // of which each repeats something, 1000 times in all
  double number_or(const std::string& key, double fallback) const;
  std::string text_or(const std::string& key, const std::string& fallback) const;
  bool flag(const std::string& key, bool fallback = false) const;
  // Throws Error for keys that say something and are neither the family's (`followed`: it reads them, or takes them
  // with the values that are listed) nor among those of all families that change nothing that is computed.
  void check(std::span<const Setting> followed) const;
  const Json& json() const { return json_; }
  const std::string& source() const { return source_; }

 private:
  const Json& json_;
  const std::string& source_;
};

}  // namespace hone
