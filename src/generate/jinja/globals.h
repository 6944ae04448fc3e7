// Values that names have before a template sets anything.
#pragma once

#include <cstdint>

#include "generate/jinja/builtins.h"

namespace hone::jinja {

// range, namespace, dict, raise_exception, strftime_now. `now`: seconds since 1970, which strftime_now shows in UTC.
Members globals(int64_t now, Budget& budget);

}  // namespace hone::jinja
