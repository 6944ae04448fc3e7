#include "search/measurements.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/error.h"
#include "base/hash.h"
#include "base/regular_file.h"
#include "base/text.h"

namespace hone {
namespace {

constexpr std::string_view kVersion = "m1";
constexpr size_t kMostBytes = size_t{256} << 20;

// "m1 <key> <value> <value> ... ;": the semicolon tells a whole line from one that a stop has cut.
std::optional<std::pair<std::string, std::vector<double>>> parse_line(const std::string& line) {
  const std::vector<std::string> words = split(line, ' ');
  if (words.size() < 4 || words.front() != kVersion || words.back() != ";") return std::nullopt;
  std::vector<double> values;
  for (size_t i = 2; i + 1 < words.size(); ++i) {
    double value = 0;
    const char* end = words[i].data() + words[i].size();
    const auto [stopped, problem] = std::from_chars(words[i].data(), end, value);
    if (stopped != end || problem != std::errc()) return std::nullopt;
    values.push_back(value);
  }
  return {{words[1], values}};
}

}  // namespace

Measurements::Measurements(std::string path, std::string about) : path_(std::move(path)), about_(std::move(about)) {
  if (path_.empty()) return;
  if (const auto folder = std::filesystem::path(path_).parent_path(); !folder.empty()) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
  }
  if (!is_regular_or_absent(path_)) fail("{}: is no plain file; give another place for it", path_);
  std::istringstream file(read_regular_file(path_, kMostBytes).value_or(""));
  for (std::string line; std::getline(file, line);)
    if (auto entry = parse_line(line)) values_.insert(std::move(*entry));
  // What a stop has cut gets its end, so that it does not run into the next line.
  if (!(std::ofstream(path_, std::ios::app) << "\n" << std::flush)) fail("{}: can't be written", path_);
}

std::string Measurements::key(const std::string& name) const {
  return fmt::format("{:016x}{:016x}", hash_text(about_, 1), hash_text(name, hash_text(about_, 2)));
}

const std::vector<double>* Measurements::find(const std::string& name, size_t count) {
  const auto found = values_.find(key(name));
  if (found == values_.end() || found->second.size() != count) return nullptr;
  ++recalled_;
  return &found->second;
}

void Measurements::put(const std::string& name, const std::vector<double>& values) {
  ++measured_;
  values_[key(name)] = values;
  if (path_.empty()) return;
  std::ofstream file(path_, std::ios::app);
  file << fmt::format("{} {} {} ;\n", kVersion, key(name), fmt::join(values, " ")) << std::flush;
  if (!file) fail("{}: can't be written; is the disk full?", path_);
}

}  // namespace hone
