// What a template shows, for given names.
#pragma once

#include <cstdint>
#include <string>

#include "generate/jinja/tree.h"

namespace hone::jinja {

// `now`: see globals() in builtins.h. Throws Error with the line: for what is undefined, for values of the wrong kind,
// for raise_exception, and beyond the limits of Budget.
std::string render(const Body& body, const Members& names, int64_t now);

}  // namespace hone::jinja
