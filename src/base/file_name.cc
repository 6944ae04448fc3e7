#include "base/file_name.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "base/hash.h"
#include "base/printable.h"
#include "base/utf8.h"

namespace hone {
namespace {

constexpr size_t kMostBytes = 255;  // NAME_MAX of Linux

bool is_accepted(char32_t c) { return c != U'/' && c != U'\\' && c != U'\n' && c != U'\t' && is_shown(c); }

std::string cleaned(const std::string& name) {
  std::string text;
  for (char32_t c : decode_utf8(name)) append_utf8(text, is_accepted(c) && c != 0xfffd ? c : U'_');
  if (text.empty()) return "_";
  if (text.front() == '.') text.front() = '_';
  return text;
}

// At most `bytes`: a long name is cut, and told from others that begin as it does by the hash of the whole.
std::string cut(const std::string& name, size_t bytes) {
  if (name.size() <= bytes) return name;
  const std::string hash = fmt::format("_{:016x}", hash_text(name, 1));
  size_t end = bytes - hash.size();
  while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xc0) == 0x80) --end;  // not within a character
  return name.substr(0, end) + hash;
}

}  // namespace

bool is_plain_file_name(std::string_view name) {
  if (name.empty() || name.size() > kMostBytes || name.front() == '.' || !is_valid_utf8(name)) return false;
  for (char32_t c : decode_utf8(name))
    if (!is_accepted(c)) return false;
  return true;
}

std::vector<std::string> plain_file_names(const std::vector<std::string>& names, std::string_view ending) {
  constexpr size_t kRoom = 32;  // for a number, and for the ending of a temporary file beside it
  const size_t most = kMostBytes - kRoom - ending.size();
  std::set<std::string> wanted, taken;  // a name that is plain as it is has the first claim on it
  for (const std::string& name : names)
    if (cut(cleaned(name), most) == name) wanted.insert(name);
  std::map<std::string, int> next;  // number to try for names that are cleaned to the same
  std::vector<std::string> files;
  for (const std::string& name : names) {
    const std::string start = cut(cleaned(name), most);
    std::string file = start;
    while ((file != name && wanted.contains(file)) || taken.contains(file))
      file = fmt::format("{}_{}", start, ++next.try_emplace(start, 1).first->second);
    taken.insert(file);
    files.push_back(file + std::string(ending));
  }
  return files;
}

}  // namespace hone
