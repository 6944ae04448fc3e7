#include "train/loop/training_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/inputs.h"
#include "base/json.h"
#include "base/text.h"

namespace hone {
namespace {

constexpr const char* kColumns[] = {"step", "epoch", "split", "seconds"};

void write_all(int file, const std::string& path, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail("{}: can't be written: {}", path, std::strerror(errno));
    text.remove_prefix(static_cast<size_t>(written));
  }
}

int open_to_append(const std::string& path) {
  const int file = open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (file < 0) fail("{}: can't be written: {}", path, std::strerror(errno));
  return file;
}

// JSON has no NaN: a value that is none is null there, and empty in CSV.
std::string json_line(const LogEntry& entry) {
  Json line{{"step", entry.step}, {"epoch", entry.epoch}, {"split", entry.split}, {"seconds", entry.seconds}};
  for (const auto& [key, value] : entry.values) line[key] = std::isfinite(value) ? Json(value) : Json();
  return line.dump() + "\n";
}

LogEntry entry_of(const Json& line, const std::string& source) {
  LogEntry entry{.step = json_get<int64_t>(line, "step", source),
                 .epoch = json_get<double>(line, "epoch", source),
                 .split = json_get<std::string>(line, "split", source),
                 .seconds = json_get<double>(line, "seconds", source),
                 .values = {}};
  for (const auto& [key, value] : line.items())
    if (std::ranges::find(kColumns, key) == std::end(kColumns))
      entry.values.emplace_back(key, value.is_number() ? value.get<double>() : std::nan(""));
  return entry;
}

// Entries up to `steps`. What a run that was killed had begun to write is no entry.
std::vector<LogEntry> read_entries(const std::string& path, int64_t steps) {
  std::vector<LogEntry> entries;
  if (steps == 0 || !std::filesystem::exists(path)) return entries;
  const std::string text = read_file(path);
  may_replace(path);  // by what goes on from it
  int64_t number = 0;
  for (size_t at = 0, end; (end = text.find('\n', at)) != std::string::npos; at = end + 1) {
    const std::string source = fmt::format("{}:{}", path, ++number);
    LogEntry entry = entry_of(parse_json(std::string_view(text).substr(at, end - at), source), source);
    if (entry.step <= steps) entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace

std::span<const char* const> TrainingLog::columns() { return kColumns; }

TrainingLog::TrainingLog(const std::string& folder, std::vector<std::string> values, int64_t steps)
    : csv_path_(folder + "/log.csv"), json_path_(folder + "/log.jsonl"), values_(std::move(values)) {
  std::string csv = fmt::format("{},{}\n", fmt::join(kColumns, ","), fmt::join(values_, ",")), json;
  for (LogEntry& entry : read_entries(json_path_, steps)) {
    for (const auto& [key, value] : entry.values)
      if (std::ranges::find(values_, key) == values_.end())
        fail("{}: has entries of \"{}\", which this run does not have; choose another folder", json_path_, key);
    csv += csv_line(entry);
    json += json_line(entry);
    entries_.push_back(std::move(entry));
  }
  write_file(csv_path_, csv);
  write_file(json_path_, json);
  csv_ = open_to_append(csv_path_);
  json_ = open_to_append(json_path_);
  events_.emplace(folder, steps);
}

TrainingLog::~TrainingLog() {
  for (int file : {csv_, json_})
    if (file >= 0) close(file);
}

std::string TrainingLog::csv_line(const LogEntry& entry) const {
  std::string line = fmt::format("{},{},{},{}", entry.step, entry.epoch, entry.split, entry.seconds);
  for (const std::string& key : values_) {
    const auto found = std::ranges::find(entry.values, key, [](const auto& value) { return value.first; });
    line += ',';
    if (found != entry.values.end() && std::isfinite(found->second)) line += fmt::format("{}", found->second);
  }
  return line + '\n';
}

void TrainingLog::add(const LogEntry& entry) {
  for (const auto& [key, value] : entry.values) {
    CHECK(std::ranges::find(values_, key) != values_.end(), "no column {}", key);
    if (std::isfinite(value)) events_->add_scalar(fmt::format("{}/{}", entry.split, key), value, entry.step);
  }
  write_all(csv_, csv_path_, csv_line(entry));
  write_all(json_, json_path_, json_line(entry));
  entries_.push_back(entry);
}

}  // namespace hone
