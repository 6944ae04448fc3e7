// What values a parameter may have: Optuna's three distributions, with its text form, so that studies can be shared.
//
// A value has two forms. Outside it is JSON: a float, an integer or one of the choices. Inside, in samplers and
// storages, it is a double: the number itself (logarithms are not taken), or the index of the choice.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace hone {

enum class DistributionKind : uint8_t { real, integer, category };

struct Distribution {
  DistributionKind kind = DistributionKind::real;
  double low = 0, high = 0;        // both are possible; of a category 0 and the last index
  double step = 0;                 // 0: none; of integers at least 1
  bool log = false;                // uniform in the logarithm
  std::vector<Json> choices = {};  // of a category: null, booleans, numbers, texts
  std::vector<Json> written = {};  // low, high, step of integers beyond 2^53, as a file has them; empty for others

  bool is_category() const { return kind == DistributionKind::category; }
  bool is_exact() const { return written.empty(); }  // each value has a double of its own
  bool is_single() const;                            // one value only
  bool contains(double inside) const;                // within the range; of steps, on one
  int64_t size() const;                              // how many values; 0: a continuum, or integers beyond 2^53
  double value_at(int64_t i) const;                  // of a finite one, in ascending order

  Json outside(double inside) const;
  // Throws Error for what is no value of this kind, `name` first; not for one out of range.
  double inside(const Json& outside, std::string_view name) const;
  std::string text(double inside) const;  // as people read it: "0.001", "mxint4"

  std::string json() const;      // as Optuna writes it
  std::string describe() const;  // "float 0.1 to 1, log": for errors and tables
  bool operator==(const Distribution&) const = default;
};
using DistributionPtr = std::shared_ptr<const Distribution>;

// Each throws Error, with `name` first, for a range that is empty, not finite or contradicts itself. Where high is no
// multiple of step above low, it is lowered to the last one.
Distribution real_distribution(std::string_view name, double low, double high, double step = 0, bool log = false);
Distribution integer_distribution(std::string_view name, int64_t low, int64_t high, int64_t step = 1, bool log = false);
Distribution category_distribution(std::string_view name, std::vector<Json> choices);

// Optuna's JSON text, with the names that it had before version 3, too. Integers beyond 2^53 are read, though no search
// of ours has them. Errors begin with `source` and the parameter's name.
Distribution parse_distribution(std::string_view json, std::string_view name, const std::string& source);

// One object for equal distributions, so that pointers can be compared first.
class DistributionPool {
 public:
  DistributionPtr get(const Distribution& distribution);
  // Remembers texts; errors as of parse_distribution.
  DistributionPtr parse(std::string_view json, std::string_view name, const std::string& source);

 private:
  std::vector<std::pair<std::string, DistributionPtr>> known_;  // few: one for each parameter and range
  size_t next_ = 0;  // trials have their parameters in one order: behind the last one that was asked for
};

// Throws Error when a parameter of one study can't have both: another kind, another scale or other choices.
void check_compatible(std::string_view name, const Distribution& before, const Distribution& now);

}  // namespace hone
