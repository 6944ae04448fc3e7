// The trials of one study in memory, as a list that can be handed out: who holds it sees it as it was.
#pragma once

#include <memory>

#include "study/storage.h"

namespace hone {

class TrialCache {
 public:
  TrialCache() : list_(std::make_shared<TrialList>()) {}

  std::shared_ptr<const TrialList> list() const { return list_; }
  const TrialRecord* find(int64_t number, int64_t id) const;
  const TrialRecord* first_waiting() const;  // none where no trial waits, without looking through all
  std::vector<TrialKey> unfinished(int64_t study) const;

  void put(TrialRecord trial);  // new, or instead of the one with its number and id
  void change(int64_t number, int64_t id, const TrialChanges& changes);

 private:
  TrialList::iterator at(int64_t number, int64_t id);
  TrialList& own();  // a list that nobody else sees

  std::shared_ptr<TrialList> list_;
  int64_t waiting_ = 0;
};

}  // namespace hone
