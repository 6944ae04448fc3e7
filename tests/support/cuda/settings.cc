#include "tests/support/cuda/settings.h"

#include <algorithm>
#include <charconv>
#include <tuple>
#include <utility>

#include "base/error.h"

namespace hone::emulated_cuda {
namespace {

int64_t whole_number(std::string_view key, std::string_view text) {
  int64_t unit = 1;
  if (text.ends_with('M')) unit = 1 << 20;
  if (text.ends_with('G')) unit = 1 << 30;
  if (unit > 1) text.remove_suffix(1);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0 || value > (int64_t{1} << 40) / unit)
    fail("HONE_EMULATED_CUDA: {}={} is no number; accepted: 0 and above, M and G behind it", key, text);
  return value * unit;
}

// "12.4" is 12 and 4.
std::pair<int, int> version(std::string_view key, std::string_view text) {
  const size_t dot = text.find('.');
  if (dot == text.npos) fail("HONE_EMULATED_CUDA: {}={} is no version; accepted: as 12.4", key, text);
  const int64_t major = whole_number(key, text.substr(0, dot)), minor = whole_number(key, text.substr(dot + 1));
  if (major > 99 || minor > 9) fail("HONE_EMULATED_CUDA: {}={} is no version; accepted: as 12.4", key, text);
  return {static_cast<int>(major), static_cast<int>(minor)};
}

void set(Settings& s, std::string_view key, std::string_view value) {
  if (key == "capability") {
    std::tie(s.major, s.minor) = version(key, value);
    return;
  }
  if (key == "driver") {
    const auto [major, minor] = version(key, value);
    s.driver = 1000 * major + 10 * minor;
    return;
  }
  const int64_t n = whole_number(key, value);
  if (key == "devices" && n <= 8) s.devices = static_cast<int>(n);
  else if (key == "memory") s.memory = n;
  else if (key == "multiprocessors" && n <= 1024) s.multiprocessors = static_cast<int>(n);
  else if (key == "fail_allocation") s.fail_allocation = n;
  else if (key == "refuse_launch") s.refuse_launch = n;
  else if (key == "fault_launch") s.fault_launch = n;
  else if (key == "lose_device") s.lose_device = n;
  else if (key == "spill_above") s.spill_above = n;
  else if (key == "aim_at") s.aim_at = n;
  else if (key == "backwards") s.backwards = n != 0;
  else if (key == "tells") s.tells = n != 0;
  else if (key == "truncated") s.truncated = n != 0;
  else fail("HONE_EMULATED_CUDA: {}={} is not known; see tests/support/cuda/settings.h", key, value);
}

}  // namespace

Settings parse_settings(std::string_view text) {
  Settings settings;
  while (!text.empty()) {
    const size_t end = std::min(text.find(','), text.size()), equals = text.find('=');
    if (equals >= end) fail("HONE_EMULATED_CUDA: {} has no value", text.substr(0, end));
    set(settings, text.substr(0, equals), text.substr(equals + 1, end - equals - 1));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return settings;
}

}  // namespace hone::emulated_cuda
