// What all devices `steps` of the process did, for tests that ask whether their own code ran at all.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "base/error.h"

namespace hone {

class StepsTally {
 public:
  void ran(std::string_view kernel) { count(runs_, kernel); }
  Support refused(std::string_view why) {
    count(refusals_, why);
    return {std::string(why)};
  }
  int64_t runs(std::string_view kernel) const { return count_of(runs_, kernel); }  // of a class's code
  int64_t refusals(std::string_view why) const { return count_of(refusals_, why); }

 private:
  using Counts = std::map<std::string, int64_t, std::less<>>;
  void count(Counts& counts, std::string_view what) {
    const std::lock_guard lock(mutex_);
    ++counts[std::string(what)];
  }
  int64_t count_of(const Counts& counts, std::string_view what) const {
    const std::lock_guard lock(mutex_);
    const auto found = counts.find(what);
    return found == counts.end() ? 0 : found->second;
  }

  mutable std::mutex mutex_;
  Counts runs_, refusals_;
};

StepsTally& steps_tally();

}  // namespace hone
