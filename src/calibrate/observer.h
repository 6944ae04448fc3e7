// What range of an activation its static scale is made for (docs/FORMATS.md, section 11): the one list of observers,
// each shown the values of one batch after the other.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "formats/format.h"
#include "ir/statistics.h"

namespace hone {

class Observer {
 public:
  virtual ~Observer() = default;
  virtual void see(std::span<const float> batch) = 0;  // finite numbers, at least one
  virtual ValueRange range() const = 0;                // 0 lies within
};

struct ObserverDef {
  const char *name, *doc;
  std::unique_ptr<Observer> (*make)(const Format& format);  // that the values will be rounded to
};

std::span<const ObserverDef> observers();
std::unique_ptr<Observer> make_observer(std::string_view name, const Format& format);  // Error that lists the names

}  // namespace hone
