// Trials whose worker was lost: signs of life, and another try.
#include <condition_variable>

#include "base/error.h"
#include "search/study.h"
#include "search/timestamp.h"

namespace hone {

void Study::keep_beating(std::stop_token stop) {
  std::mutex waiting;
  std::condition_variable_any wake;
  std::unique_lock lock(waiting);
  while (!stop.stop_requested()) {
    wake.wait_for(lock, stop, std::chrono::duration<double>(config_.heartbeat_seconds), [] { return false; });
    std::vector<TrialKey> keys;
    {
      const std::lock_guard guard(mutex_);
      for (const auto& [number, id] : beating_) keys.push_back({record_.id, id, number});
    }
    try {
      if (!keys.empty() && !stop.stop_requested()) storage_->beat(keys);
    } catch (const Error&) {
      // A full disk or a lock held for long: the trial itself meets the same when it is told, and says so.
    }
  }
}

void Study::fail_silent_trials() {
  if (config_.heartbeat_seconds <= 0) return;
  const int64_t now = now_us();
  if (checked_silence_ && static_cast<double>(now - checked_silence_) < config_.heartbeat_seconds * 1e6) return;
  checked_silence_ = now;
  const double grace = config_.grace_seconds > 0 ? config_.grace_seconds : 2 * config_.heartbeat_seconds;
  const std::vector<TrialKey> silent = storage_->silent_trials(record_.id, grace);
  if (silent.empty()) return;
  const std::shared_ptr<const TrialList> all = storage_->trials(record_.id);
  for (const TrialKey& key : silent) {
    if (beating_.contains({key.number, key.id})) continue;
    try {
      storage_->change(key, {.state = TrialState::failed, .ended = now});
    } catch (const Error&) {
      continue;  // another worker found it first, or it came back and finished
    }
    for (const TrialPtr& trial : *all)
      if (trial->id == key.id) add_retry(*trial);
  }
}

// As Optuna's RetryHeartbeatStaleTrialCallback.
void Study::add_retry(const TrialRecord& failed) {
  TrialRecord again{.state = TrialState::waiting,
                    .parameters = failed.parameters,
                    .user_attributes = failed.user_attributes,
                    .system_attributes = failed.system_attributes};
  Json history = Json::array();
  if (again.system_attributes.is_object() && again.system_attributes.contains("retry_history"))
    history = again.system_attributes.at("retry_history");
  else set_member(again.system_attributes, "failed_trial", failed.number);
  if (!history.is_array()) history = Json::array();
  history.push_back(failed.number);
  if (static_cast<int>(history.size()) > config_.max_retries) return;
  set_member(again.system_attributes, "retry_history", history);
  storage_->create_trial(record_.id, again);
}

void Study::retry(LiveTrial& trial) {
  const TrialRecord before = trial.record_;
  tell(trial, TrialState::failed);
  add_retry(before);
}

}  // namespace hone
