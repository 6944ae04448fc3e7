// JSON read by events, without a tree: for texts of which most goes into tables of their own. Reads what parse_json
// reads, several times as fast.
#pragma once

#include <string>
#include <string_view>

namespace hone {

// What a text holds, in its order. A text lives until the call returns.
class JsonEvents {
 public:
  virtual ~JsonEvents() = default;
  virtual void begin_object() = 0;
  virtual void begin_array() = 0;
  virtual void end() = 0;  // of the innermost object or array
  virtual void key(std::string_view text) = 0;
  virtual void string(std::string_view text) = 0;
  virtual void number(std::string_view digits) = 0;  // as the file writes it
  virtual void literal(std::string_view name) = 0;   // true, false or null
};

// Throws Error that names `source` and the byte where the text is no JSON, no UTF-8, or nested deeper than 64.
void read_json_events(std::string_view text, const std::string& source, JsonEvents& events);

}  // namespace hone
