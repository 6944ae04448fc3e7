// A Record as JSON for machines. Members: schema, title, command, findings, machine, manifest, and one per block under
// its key: a table is an array of objects {column key: value}, a measured value beside its interval [low, high];
// key-values are an object; plots are arrays of points. NaN and infinities are null.
#pragma once

#include "base/json.h"
#include "report/record.h"

namespace hone {

Json to_json(const Record& record);
std::string json_text(const Record& record);  // indented, ends with a newline

}  // namespace hone
