#include "study/storages/memory.h"

#include <fmt/format.h>

#include <map>
#include <mutex>

#include "base/error.h"
#include "study/storages/trial_cache.h"
#include "study/timestamp.h"

namespace hone {
namespace {

class MemoryStorage : public Storage {
 public:
  std::vector<StudyRecord> studies() override {
    const std::lock_guard lock(mutex_);
    std::vector<StudyRecord> all;
    for (const auto& [id, study] : studies_) all.push_back(study.record);
    return all;
  }

  int64_t create_study(const std::string& name, std::span<const Direction> directions) override {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, study] : studies_)
      if (study.record.name == name) fail("memory: there is a study \"{}\" already", name);
    const int64_t id = next_study_++;
    studies_[id].record = {id, name, {directions.begin(), directions.end()}};
    return id;
  }

  void delete_study(int64_t study) override {
    const std::lock_guard lock(mutex_);
    if (studies_.erase(study) == 0) fail("memory: there is no study {}", study);
  }

  void set_study_attribute(int64_t study, StudyAttribute kind, const std::string& key, const Json& value) override {
    const std::lock_guard lock(mutex_);
    StudyRecord& record = find(study).record;
    set_member(kind == StudyAttribute::user ? record.user_attributes : record.system_attributes, key, value);
  }

  TrialKey create_trial(int64_t study, const TrialRecord& content) override {
    const std::lock_guard lock(mutex_);
    Kept& kept = find(study);
    TrialRecord trial = content;
    trial.id = next_trial_++;
    trial.number = kept.next_number++;
    const TrialKey key{study, trial.id, trial.number};
    kept.trials.put(std::move(trial));
    return key;
  }

  std::optional<TrialRecord> pop_waiting(int64_t study) override {
    const std::lock_guard lock(mutex_);
    TrialCache& trials = find(study).trials;
    const TrialRecord* waiting = trials.first_waiting();
    if (!waiting) return std::nullopt;
    const int64_t number = waiting->number, id = waiting->id;
    trials.change(number, id, {.state = TrialState::running, .started = now_us()});
    return *trials.find(number, id);
  }

  void change(const TrialKey& key, const TrialChanges& changes) override {
    const std::lock_guard lock(mutex_);
    TrialCache& trials = find(key.study).trials;
    const TrialRecord* trial = trials.find(key.number, key.id);
    if (!trial) fail("memory: there is no trial {}", key.number);
    if (is_finished(trial->state))
      throw TrialEnded(
          fmt::format("memory: trial {} has finished ({}) and can't change", key.number, to_string(trial->state)));
    trials.change(key.number, key.id, changes);
  }

  std::shared_ptr<const TrialList> trials(int64_t study) override {
    const std::lock_guard lock(mutex_);
    return find(study).trials.list();
  }

  std::string name() const override { return "memory"; }

 private:
  struct Kept {
    StudyRecord record;
    TrialCache trials;
    int64_t next_number = 0;
  };

  Kept& find(int64_t study) {
    const auto at = studies_.find(study);
    if (at == studies_.end()) fail("memory: there is no study {}", study);
    return at->second;
  }

  std::mutex mutex_;
  std::map<int64_t, Kept> studies_;
  int64_t next_study_ = 0, next_trial_ = 0;
};

}  // namespace

std::shared_ptr<Storage> memory_storage() { return std::make_shared<MemoryStorage>(); }

}  // namespace hone
