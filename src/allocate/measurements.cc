#include "allocate/measurements.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>

#include "base/error.h"
#include "base/hash.h"
#include "base/text.h"

namespace hone {
namespace {

constexpr std::string_view kVersion = "m3";  // 3: keys and checksums are XXH3

std::string checksum(std::string_view key, std::string_view values) {
  return fmt::format("{:016x}", hash_text(values, hash_text(key)));
}

std::string line_of(const std::string& key, std::span<const double> values) {
  const std::string text = fmt::format("{}", fmt::join(values, " "));
  return fmt::format("{} {} {} {} ;\n", kVersion, key, text, checksum(key, text));
}

// NaN and -infinity are no measurement of ours; an error may be infinite.
std::optional<double> parse_value(const std::string& word) {
  double value = 0;
  const char* end = word.data() + word.size();
  const auto [at, error] = std::from_chars(word.data(), end, value);
  if (word.empty() || error != std::errc() || at != end || !(value > -std::numeric_limits<double>::infinity()))
    return std::nullopt;
  return value;
}

// "m3 <key> <value> <value> ... <checksum> ;": the semicolon tells a whole line from one that a stop has cut.
std::optional<std::pair<std::string, std::vector<double>>> parse_line(const std::string& line) {
  const std::vector<std::string> words = split(line, ' ');
  if (words.size() < 5 || words.front() != kVersion || words.back() != ";") return std::nullopt;
  const std::span<const std::string> numbers(words.begin() + 2, words.end() - 2);
  if (words[words.size() - 2] != checksum(words[1], fmt::format("{}", fmt::join(numbers, " ")))) return std::nullopt;
  std::vector<double> values;
  for (const std::string& word : numbers) {
    const std::optional<double> value = parse_value(word);
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  return {{words[1], values}};
}

// A file of something else must not get our lines. Ours are text that begins with "m" and a version.
void refuse_other_content(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code none;
  const fs::file_status status = fs::status(path, none);
  if (!fs::exists(status)) return;
  if (!fs::is_regular_file(status)) fail("{}: is no plain file; measurements are remembered in one", path);
  std::ifstream file(path);
  char c = '\n';
  while (c == '\n' && file.get(c)) {
  }
  if (!file) return;
  std::string start{c};
  if (file.get(c)) start += c;
  if (start[0] != 'm' || (start.size() == 2 && (start[1] < '0' || start[1] > '9')))
    fail("{}: holds something else than measurements; give a new name or one that hone wrote", path);
}

}  // namespace

Measurements::Measurements(std::string path, std::string about) : path_(std::move(path)), about_(std::move(about)) {
  if (path_.empty()) return;
  refuse_other_content(path_);
  if (const auto folder = std::filesystem::path(path_).parent_path(); !folder.empty()) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
  }
  std::ifstream file(path_);
  for (std::string line; std::getline(file, line);)
    if (auto entry = parse_line(line)) values_.insert_or_assign(std::move(entry->first), std::move(entry->second));
  // What a stop has cut gets its end, so that it does not run into the next line.
  if (!(std::ofstream(path_, std::ios::app) << "\n" << std::flush)) fail("{}: can't be written", path_);
}

std::string Measurements::key(const std::string& name) const { return hash128(hash128(about_).hex() + name).hex(); }

bool Measurements::find(const std::string& name, std::span<double> values) {
  const auto found = values_.find(key(name));
  if (found == values_.end() || found->second.size() != values.size()) return false;
  std::ranges::copy(found->second, values.begin());
  ++recalled_;
  return true;
}

void Measurements::put(const std::string& name, std::span<const double> values) {
  ++measured_;
  values_[key(name)].assign(values.begin(), values.end());
  if (path_.empty()) return;
  std::ofstream file(path_, std::ios::app);
  file << line_of(key(name), values) << std::flush;
  if (!file) fail("{}: can't be written; is the disk full?", path_);
}

}  // namespace hone
