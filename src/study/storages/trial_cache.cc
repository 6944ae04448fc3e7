#include "study/storages/trial_cache.h"

#include <algorithm>

#include "base/error.h"

namespace hone {
namespace {

std::pair<int64_t, int64_t> place_of(const TrialPtr& trial) { return {trial->number, trial->id}; }

}  // namespace

TrialList& TrialCache::own() {
  if (list_.use_count() > 1) list_ = std::make_shared<TrialList>(*list_);
  return *list_;
}

TrialList::iterator TrialCache::at(int64_t number, int64_t id) {
  TrialList& all = own();
  // Numbers have no gaps, unless others write to the same file.
  const auto guess = static_cast<size_t>(number);
  if (number >= 0 && guess < all.size() && all[guess]->number == number && all[guess]->id == id)
    return all.begin() + number;
  return std::ranges::lower_bound(all, std::pair(number, id), {}, place_of);
}

const TrialRecord* TrialCache::find(int64_t number, int64_t id) const {
  const auto found = std::ranges::lower_bound(*list_, std::pair(number, id), {}, place_of);
  return found != list_->end() && (*found)->number == number && (*found)->id == id ? found->get() : nullptr;
}

const TrialRecord* TrialCache::first_waiting() const {
  if (waiting_ == 0) return nullptr;
  const auto found =
      std::ranges::find_if(*list_, [](const TrialPtr& trial) { return trial->state == TrialState::waiting; });
  return found == list_->end() ? nullptr : found->get();
}

std::vector<TrialKey> TrialCache::unfinished(int64_t study) const {
  std::vector<TrialKey> keys;
  for (const TrialPtr& trial : *list_)
    if (!is_finished(trial->state)) keys.push_back({study, trial->id, trial->number});
  return keys;
}

void TrialCache::put(TrialRecord trial) {
  waiting_ += trial.state == TrialState::waiting;
  const auto place = at(trial.number, trial.id);
  TrialPtr record = std::make_shared<TrialRecord>(std::move(trial));
  if (place != list_->end() && place_of(*place) == place_of(record)) {
    waiting_ -= (*place)->state == TrialState::waiting;
    *place = std::move(record);
  } else {
    list_->insert(place, std::move(record));
  }
}

void TrialCache::change(int64_t number, int64_t id, const TrialChanges& changes) {
  const auto place = at(number, id);
  CHECK(place != list_->end() && (*place)->number == number && (*place)->id == id, "trial {}", number);
  waiting_ -= (*place)->state == TrialState::waiting;
  // Records are made without const (put), so that the only holder may change its own.
  if (place->use_count() == 1) {
    apply_changes(const_cast<TrialRecord&>(**place), changes);
  } else {
    auto changed = std::make_shared<TrialRecord>(**place);
    apply_changes(*changed, changes);
    *place = std::move(changed);
  }
  waiting_ += (*place)->state == TrialState::waiting;
}

}  // namespace hone
