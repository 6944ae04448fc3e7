// A Record as one HTML file that needs nothing else: style and pictures are inside, there are no scripts, and its own
// content policy forbids the network. It follows the reader's light or dark setting and prints.
#pragma once

#include <string>

#include "report/record.h"

namespace hone {

std::string html(const Record& record);

}  // namespace hone
