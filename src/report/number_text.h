// Numbers as people read them: the same in every renderer.
#pragma once

#include <string>

#include "report/record.h"

namespace hone {

std::string number_text(double value, const NumberStyle& style);  // "n/a" for NaN, "infinite" for infinities
std::string cell_text(const Cell& cell,
                      const NumberStyle& style);  // "35.5 (35.1-35.9)" with an interval, "-" for nothing
std::string title_with_unit(const std::string& title, const std::string& unit);  // "latency (ms)"

}  // namespace hone
