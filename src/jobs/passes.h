// hone passes: every pass with its options.
#pragma once

#include <string>
#include <vector>

#include "base/options.h"

namespace hone {

struct ListedPass {
  std::string name, doc;
  std::vector<std::string> takes_options_of;  // passes, mostly itself
  std::vector<OptionInfo> options;            // its own
};

std::vector<ListedPass> list_passes();

}  // namespace hone
