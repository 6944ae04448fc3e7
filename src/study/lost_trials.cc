// Trials whose worker was lost: signs of life, and another try.
#include <fmt/format.h>

#include <condition_variable>

#include "base/error.h"
#include "base/log.h"
#include "study/study.h"
#include "study/timestamp.h"

namespace hone {

void Study::keep_beating(std::stop_token stop) {
  std::mutex waiting;
  std::condition_variable_any wake;
  std::unique_lock lock(waiting);
  while (!stop.stop_requested()) {
    wake.wait_for(lock, stop, std::chrono::duration<double>(config_.heartbeat_seconds), [] { return false; });
    if (stop.stop_requested()) return;
    std::vector<TrialKey> keys;
    {
      const std::lock_guard guard(mutex_);
      for (const auto& [number, id] : beating_) keys.push_back({record_.id, id, number});
    }
    try {
      if (!keys.empty()) storage_->beat(keys);
      const std::lock_guard guard(mutex_);
      look_for_signs();
    } catch (const Error&) {
      // A full disk or a lock held for long: the trial itself meets the same when it is told, and says so.
    }
  }
}

// Whether others' signs change from look to look, which are at least the time between two signs apart.
void Study::look_for_signs() {
  const auto now = config_.clock();
  if (looked_ && now - *looked_ < std::chrono::duration<double>(config_.heartbeat_seconds)) return;
  looked_ = now;
  std::map<int64_t, Silence> silences;
  for (SignOfLife& sign : storage_->signs_of_life(record_.id)) {
    if (beating_.contains({sign.trial.number, sign.trial.id})) continue;
    const auto known = silences_.find(sign.trial.id);
    Silence silence{.trial = sign.trial, .sign = std::move(sign.text), .since = now};
    if (known != silences_.end() && known->second.sign == silence.sign) {
      silence.since = known->second.since;
      silence.looks = known->second.looks + 1;
    }
    silences.emplace(silence.trial.id, std::move(silence));
  }
  silences_ = std::move(silences);
}

// One look more than the time of silence needs: all workers may have stood still between two looks, as when the machine
// slept, and wake up together.
void Study::fail_silent_trials() {
  if (config_.heartbeat_seconds <= 0) return;
  look_for_signs();
  const double grace = config_.grace_seconds > 0 ? config_.grace_seconds : 2 * config_.heartbeat_seconds;
  std::vector<TrialKey> lost;
  for (const auto& [id, silence] : silences_)
    if (silence.looks >= 2 && *looked_ - silence.since >= std::chrono::duration<double>(grace))
      lost.push_back(silence.trial);
  if (lost.empty()) return;
  const std::shared_ptr<const TrialList> all = storage_->trials(record_.id);
  for (const TrialKey& key : lost) {
    silences_.erase(key.id);
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
  try {
    tell(trial, TrialState::failed);
  } catch (const TrialEnded&) {
    return;  // who ended it has seen to that
  }
  add_retry(before);
}

void Study::drop(LiveTrial& trial) {
  log(LogLevel::note,
      fmt::format("study {}: trial {} was ended by another worker, which took this one for lost; its result is dropped",
                  record_.name, trial.number()));
  trial.record_.state = TrialState::failed;
  trial.unwritten_ = {};
}

}  // namespace hone
