// Points in time as Optuna's storages write them: microseconds since 1970 in UTC here, text there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hone {

int64_t now_us();
std::string sql_time(int64_t us);  // "2026-11-24 09:55:53.261289": exactly six digits, which SQLAlchemy needs
std::string iso_time(int64_t us);  // "2026-11-24T09:55:53.261289+00:00"
// Either form, with up to six digits of a second or none, and an offset or none; nothing for other texts.
std::optional<int64_t> parse_time(std::string_view text);

}  // namespace hone
