// Where studies live: in memory, in a SQLite file, in a journal, on a PostgreSQL server. Workers, threads and processes
// may share one. Each call is a transaction: when it returns, it holds.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "study/trial_record.h"

namespace hone {

struct TrialKey {
  int64_t study = -1, id = -1, number = -1;
};

// What a running trial's worker wrote last. Only whether it changes says something: clocks of machines differ.
struct SignOfLife {
  TrialKey trial;
  std::string text;
};

// Thrown by Storage::change: the trial has ended, by another worker's word.
class TrialEnded : public Error {
 public:
  using Error::Error;
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
  // That, or where none waits a new one.
  virtual TrialRecord begin_trial(int64_t study, int64_t started);
  // TrialEnded when the trial has finished; Error when it is gone.
  virtual void change(const TrialKey& trial, const TrialChanges& changes) = 0;
  virtual std::shared_ptr<const TrialList> trials(int64_t study) = 0;

  // Signs of life of running trials, of those that ever gave one.
  virtual bool has_heartbeats() const { return false; }
  virtual void beat(std::span<const TrialKey>) {}
  virtual std::vector<SignOfLife> signs_of_life(int64_t /*study*/) { return {}; }

  virtual std::string name() const = 0;  // as errors and reports show it
};

struct StorageOptions {
  bool may_create = true;  // a file that is not there
  bool read_only = false;  // nothing is written, no file is made
  // What finishes a trial, adds a waiting one or changes a study is on the disk when it returns; otherwise it survives
  // its process only. A PostgreSQL server does as it is set.
  bool durable = false;
  double wait_seconds = 60;  // for another process's lock
};

// "memory", a SQLite file ("study.db", "sqlite:///study.db"), a journal ("study.log", "journal:study.dat") or a
// server's database ("postgresql://user@host/database"; passwords as libpq finds them: PGPASSFILE, ~/.pgpass,
// PGPASSWORD). A file that is there is known by its first bytes, a new one by its ending: .log, .journal and .jsonl are
// journals. Throws Error when it can't be opened, or is of something else.
std::shared_ptr<Storage> open_storage(const std::string& place, const StorageOptions& options = {});

// A place as it may be shown: without what stands between // and @, and without passwords behind a question mark. Of a
// whole command line, too.
std::string without_credentials(std::string_view place);

// What to say when a place has a password in it, which other users of the machine see; nothing otherwise.
std::optional<std::string> credentials_warning(std::string_view place);

// The study of that name. Throws Error with the names that there are.
StudyRecord find_study(Storage& storage, const std::string& name);

}  // namespace hone
