// What the steps of a lab printed, by their names. Throws Error where a result is not what was expected of it, which
// happens when the program has changed since the step ran.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "report/record.h"

namespace hone {

class LabResults {
 public:
  explicit LabResults(std::map<std::string, Json> by_step) : by_step_(std::move(by_step)) {}

  bool has(const std::string& step) const { return by_step_.contains(step); }
  const Json& of(const std::string& step) const;  // a record as JSON, or a text
  std::string text(const std::string& step) const;
  // The rows of a table of the step's record.
  const Json& rows(const std::string& step, const std::string& table) const;
  // The row whose member `key` is that text.
  const Json& row(const std::string& step, const std::string& table, const std::string& key,
                  const std::string& text) const;

 private:
  std::map<std::string, Json> by_step_;
};

// Of a row; a number with the interval beside it, where there is one. NaN where the member is null or absent.
double figure(const Json& row, const std::string& key);
Number measured(const Json& row, const std::string& key);
std::string name_in(const Json& row, const std::string& key);

}  // namespace hone
