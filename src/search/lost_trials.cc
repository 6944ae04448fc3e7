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
  const auto now = std::chrono::steady_clock::now();
  const std::chrono::duration<double> between(config_.heartbeat_seconds);
  if (looked_ && now - *looked_ < between) return;
  const bool first = !looked_;
  looked_ = now;
  const double grace = config_.grace_seconds > 0 ? config_.grace_seconds : 2 * config_.heartbeat_seconds;
  const std::vector<TrialKey> silent = storage_->silent_trials(record_.id, grace);
  // When the storage's clock is set, all trials seem silent until their next sign: it is waited for. What had fallen
  // silent before this worker began needs none.
  std::map<int64_t, std::chrono::steady_clock::time_point> since;
  for (const TrialKey& key : silent) {
    const auto known = silent_since_.find(key.id);
    since[key.id] = known == silent_since_.end() ? now : known->second;
  }
  silent_since_ = since;
  if (silent.empty()) return;
  const std::shared_ptr<const TrialList> all = storage_->trials(record_.id);
  for (const TrialKey& key : silent) {
    if (beating_.contains({key.number, key.id})) continue;
    if (!first && now - since[key.id] < 2 * between) continue;
    try {
      storage_->change(key, {.state = TrialState::failed, .ended = now_us()});
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
