// Where studies live: in memory, in a SQLite file, in a journal. Workers, threads and processes may share one. Each
// call is a transaction: when it returns, it holds.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "search/trial_record.h"

namespace hone {

struct TrialKey {
  int64_t study = -1, id = -1, number = -1;
};

enum class StudyAttribute : uint8_t { user, system };

class Storage {
 public:
  virtual ~Storage() = default;

  virtual std::vector<StudyRecord> studies() = 0;
  virtual int64_t create_study(const std::string& name, std::span<const Direction> directions) = 0;  // Error: is there
  virtual void delete_study(int64_t study) = 0;
  virtual void set_study_attribute(int64_t study, StudyAttribute kind, const std::string& key, const Json& value) = 0;

  // A trial with the next number; what `content` has besides id and number becomes its own.
  virtual TrialKey create_trial(int64_t study, const TrialRecord& content) = 0;
  // The first waiting trial, now running: no two callers get the same one.
  virtual std::optional<TrialRecord> pop_waiting(int64_t study) = 0;
  // Error when the trial has finished, or is gone.
  virtual void change(const TrialKey& trial, const TrialChanges& changes) = 0;
  virtual std::shared_ptr<const TrialList> trials(int64_t study) = 0;

  // Signs of life of running trials, and who has given none for so long (only those that ever gave one).
  virtual bool has_heartbeats() const { return false; }
  virtual void beat(std::span<const TrialKey>) {}
  virtual std::vector<TrialKey> silent_trials(int64_t, double /*seconds*/) { return {}; }

  virtual std::string name() const = 0;  // as errors and reports show it
};

struct StorageOptions {
  bool may_create = true;    // a file that is not there
  bool read_only = false;    // nothing is written, no file is made
  bool durable = false;      // every transaction is on the disk when it returns; otherwise it survives its process only
  double wait_seconds = 60;  // for another process's lock
};

// "memory", a SQLite file ("study.db", "sqlite:///study.db") or a journal ("study.log", "journal:study.dat"). A file
// that is there is known by its first bytes, a new one by its ending: .log, .journal and .jsonl are journals.
// Throws Error when it can't be opened, or is of something else.
std::shared_ptr<Storage> open_storage(const std::string& place, const StorageOptions& options = {});

// A place as it may be shown: without what stands between // and @.
std::string without_credentials(std::string_view place);

// The study of that name. Throws Error with the names that there are.
StudyRecord find_study(Storage& storage, const std::string& name);

}  // namespace hone
