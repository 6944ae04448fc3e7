// What a training run tells as it goes, in three forms in one folder: log.csv and log.jsonl, a line for each entry, and
// TensorBoard's events. Each line is on its way to the disk before the next step begins.
//   log.csv    a column for each key in the order of TrainingLog::columns(), empty where an entry has none
//   log.jsonl  an object for each entry, with the keys that it has
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "train/loop/event_file.h"

namespace hone {

struct LogEntry {
  int64_t step = 0;                                    // how many updates were made
  double epoch = 0;                                    // how often the data were seen
  std::string split;                                   // "train", "validation"
  double seconds = 0;                                  // of work since training began, over all runs that it took
  std::vector<std::pair<std::string, double>> values;  // loss, rate, accuracy, …
};

class TrainingLog {
 public:
  // `values` are the keys that entries may have. Of a log that is there, entries up to `steps` stay and others go: a
  // run goes on from there; with 0 it is begun anew. Throws Error when the folder can't be written, or holds a log of
  // other keys.
  TrainingLog(const std::string& folder, std::vector<std::string> values, int64_t steps);
  ~TrainingLog();
  TrainingLog(const TrainingLog&) = delete;
  TrainingLog& operator=(const TrainingLog&) = delete;

  void add(const LogEntry& entry);  // Bug for a value of another key; Error on a full disk
  std::span<const LogEntry> entries() const { return entries_; }
  static std::span<const char* const> columns();  // before the values'

 private:
  std::string csv_line(const LogEntry& entry) const;
  std::string csv_path_, json_path_;
  std::vector<std::string> values_;
  std::vector<LogEntry> entries_;
  int csv_ = -1, json_ = -1;
  std::optional<EventFile> events_;
};

}  // namespace hone
