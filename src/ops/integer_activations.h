// Which formats of activations are multiplied as integers (docs/FORMATS.md, section 11).
#pragma once

#include <string>

#include "formats/format.h"

namespace hone {

std::string no_integer_activations(const Format& format);  // why it is none of them; empty where it is

}  // namespace hone
