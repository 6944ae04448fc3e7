// A table as CSV (RFC 4180): its keys first, numbers with all their digits, an interval as two columns where a cell of
// the column has one.
#pragma once

#include <string>

#include "report/record.h"

namespace hone {

std::string csv_of(const Table& table);

}  // namespace hone
