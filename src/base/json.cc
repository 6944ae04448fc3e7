#include "base/json.h"

#include <set>
#include <vector>

#include "base/atomic_file.h"
#include "base/error.h"

namespace hone {

Json parse_json(std::string_view text, const std::string& source) {
  constexpr size_t kMaxDepth = 64;
  std::vector<std::set<std::string>> keys;
  auto watch = [&](int depth, nlohmann::json::parse_event_t event, Json& parsed) {
    using Event = nlohmann::json::parse_event_t;
    if (static_cast<size_t>(depth) > kMaxDepth) fail("{}: JSON nested deeper than {}", source, kMaxDepth);
    if (event == Event::object_start) keys.emplace_back();
    if (event == Event::object_end) keys.pop_back();
    if (event == Event::key && !keys.back().insert(parsed.get<std::string>()).second)
      fail("{}: duplicate key \"{}\"", source, parsed.get<std::string>());
    return true;
  };
  try {
    return Json::parse(text.begin(), text.end(), watch);
  } catch (const nlohmann::json::exception& e) {
    fail("{}: not valid JSON: {}", source, e.what());
  }
}

Json read_json_file(const std::string& path) { return parse_json(read_file(path), path); }

}  // namespace hone
