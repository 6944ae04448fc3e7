#include "study/timestamp.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <chrono>

namespace hone {
namespace {

std::string with(int64_t us, char between, const char* end) {
  using namespace std::chrono;
  const sys_time<microseconds> time{microseconds(us)};
  const auto day = floor<days>(time);
  const year_month_day date(day);
  const hh_mm_ss clock(time - day);
  return fmt::format("{:04}-{:02}-{:02}{}{:02}:{:02}:{:02}.{:06}{}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), between,
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count(),
                     clock.subseconds().count(), end);
}

// Takes `digits` digits off the front.
std::optional<int> number(std::string_view& text, size_t digits) {
  if (text.size() < digits) return std::nullopt;
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + digits, value);
  if (error != std::errc() || end != text.data() + digits || value < 0) return std::nullopt;
  text.remove_prefix(digits);
  return value;
}

bool take(std::string_view& text, std::string_view any_of) {
  if (text.empty() || any_of.find(text[0]) == any_of.npos) return false;
  text.remove_prefix(1);
  return true;
}

// "+05:30" in minutes, "Z" and nothing are 0.
std::optional<int> offset(std::string_view text) {
  if (text.empty() || text == "Z") return 0;
  const int sign = text[0] == '-' ? -1 : 1;
  if (!take(text, "+-")) return std::nullopt;
  const auto hours = number(text, 2);
  if (!hours || !take(text, ":")) return std::nullopt;
  const auto minutes = number(text, 2);
  if (!minutes || !text.empty()) return std::nullopt;
  return sign * (*hours * 60 + *minutes);
}

}  // namespace

int64_t now_us() {
  using namespace std::chrono;
  return duration_cast<microseconds>(system_clock::now().time_since_epoch()).count();
}

std::string sql_time(int64_t us) { return with(us, ' ', ""); }
std::string iso_time(int64_t us) { return with(us, 'T', "+00:00"); }

std::optional<int64_t> parse_time(std::string_view text) {
  using namespace std::chrono;
  std::array<int, 6> parts{};
  constexpr std::array<std::string_view, 6> kAfter{"-", "-", " T", ":", ":", ""};
  for (size_t i = 0; i < 6; ++i) {
    const auto part = number(text, i == 0 ? 4 : 2);
    if (!part || (!kAfter[i].empty() && !take(text, kAfter[i]))) return std::nullopt;
    parts[i] = *part;
  }
  int64_t fraction = 0;
  if (take(text, ".")) {
    int64_t unit = 100'000;
    size_t digits = 0;
    for (; digits < text.size() && text[digits] >= '0' && text[digits] <= '9'; ++digits, unit /= 10)
      fraction += unit * (text[digits] - '0');
    if (digits == 0) return std::nullopt;
    text.remove_prefix(digits);
  }
  const auto minutes_east = offset(text);
  const year_month_day date(year(parts[0]), month(static_cast<unsigned>(parts[1])),
                            day(static_cast<unsigned>(parts[2])));
  if (!minutes_east || !date.ok() || parts[3] > 23 || parts[4] > 59 || parts[5] > 60) return std::nullopt;
  const auto time = sys_days(date) + hours(parts[3]) + minutes(parts[4] - *minutes_east) + seconds(parts[5]);
  return duration_cast<microseconds>(time.time_since_epoch()).count() + fraction;
}

}  // namespace hone
