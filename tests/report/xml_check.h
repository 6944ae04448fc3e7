// Is a text well-formed enough for a browser's XML parser: elements nest, attributes are quoted, entities are known.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace hone {

// The first fault found, "" when there is none. `empty_tags` may stay open (HTML's meta).
inline std::string xml_fault(std::string_view text, const std::set<std::string>& empty_tags = {}) {
  std::vector<std::string> open;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '&') {
      const size_t end = text.find(';', at);
      const std::string entity(text.substr(at, std::min(end, at + 12) - at));
      if (!std::set<std::string>{"&amp", "&lt", "&gt", "&quot", "&#39", "&ndash", "&#45", "&#160"}.contains(entity))
        return "entity " + entity;
    }
    if (text[at] == '>') return "a lone > at " + std::string(text.substr(at > 20 ? at - 20 : 0, 40));
    if (text[at] != '<') continue;
    char quote = 0;
    size_t end = at + 1;
    for (; end < text.size() && (quote || text[end] != '>'); ++end) {
      if (quote && text[end] == '<') return "< inside an attribute";
      if (text[end] == quote) quote = 0;
      else if (!quote && (text[end] == '"' || text[end] == '\'')) quote = text[end];
    }
    if (end == text.size()) return "an unfinished tag";
    const std::string tag(text.substr(at + 1, end - at - 1));
    const std::string name = tag.substr(0, tag.find_first_of(" \n/", 1));
    if (tag[0] == '/') {
      if (open.empty() || "/" + open.back() != tag) return "unexpected <" + tag + ">";
      open.pop_back();
    } else if (tag[0] != '!' && tag[0] != '?' && tag.back() != '/' && !empty_tags.contains(name)) {
      open.push_back(name);
    }
    at = end;
  }
  return open.empty() ? "" : "<" + open.back() + "> is never closed";
}

}  // namespace hone
