// A Record as plain text for terminals and logs: aligned columns, no escape sequences unless asked for.
#pragma once

#include <string>

#include "report/record.h"

namespace hone {

struct TextOptions {
  size_t width = 120;   // long text cells are cut in the middle to fit, numbers never
  bool styled = false;  // bold titles by ANSI escape sequences
  bool machine = true;  // with the machine and the manifest at the end
};

// Plots are left out (their data are in the tables); drawings are named.
std::string text(const Record& record, const TextOptions& options = {});
std::string text(const Table& table, const TextOptions& options = {});

}  // namespace hone
