#include "labs/lab_results.h"

#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "base/error.h"

namespace hone {

const Json& LabResults::of(const std::string& step) const {
  const auto found = by_step_.find(step);
  CHECK(found != by_step_.end());
  return found->second;
}

std::string LabResults::text(const std::string& step) const {
  const Json& result = of(step);
  if (!result.is_string()) fail("the result of {} is {}; expected a text", step, json_excerpt(result));
  return result.get<std::string>();
}

const Json& LabResults::rows(const std::string& step, const std::string& table) const {
  const Json& result = of(step);
  if (!result.is_object() || !result.contains(table) || !result.at(table).is_array())
    fail("the result of {} has no table \"{}\"; delete the lab's folder and run it again", step, table);
  return result.at(table);
}

const Json& LabResults::row(const std::string& step, const std::string& table, const std::string& key,
                            const std::string& text) const {
  for (const Json& row : rows(step, table))
    if (row.is_object() && row.contains(key) && row.at(key) == text) return row;
  fail("the table \"{}\" of {} has no row with {} \"{}\"", table, step, key, text);
}

double figure(const Json& row, const std::string& key) {
  if (!row.is_object() || !row.contains(key) || !row.at(key).is_number())
    return std::numeric_limits<double>::quiet_NaN();
  return row.at(key).get<double>();
}

Number measured(const Json& row, const std::string& key) {
  Number number{figure(row, key)};
  const std::string interval = key + "_ci95";
  if (!row.is_object() || !row.contains(interval)) return number;
  const Json& ends = row.at(interval);
  if (ends.is_array() && ends.size() == 2 && ends[0].is_number() && ends[1].is_number())
    number.interval = Interval{ends[0].get<double>(), ends[1].get<double>()};
  return number;
}

std::string name_in(const Json& row, const std::string& key) { return json_get<std::string>(row, key, "a lab's step"); }

}  // namespace hone
