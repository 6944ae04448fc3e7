#include "base/error.h"

namespace hone {

void fail_with(fmt::string_view format, fmt::format_args args) { throw Error(fmt::vformat(format, args)); }

void check_failed(const char* condition, const char* file, int line, const std::string& detail) {
  throw Bug(fmt::format("{}:{}: check failed: {}{}{}", file, line, condition, detail.empty() ? "" : ": ", detail));
}

}  // namespace hone
