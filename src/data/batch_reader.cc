#include "data/batch_reader.h"

#include <utility>

#include "base/error.h"
#include "base/stop.h"

namespace hone {

BatchReader::BatchReader(const Batches& batches, uint64_t epochs, uint64_t epoch, int64_t index, int64_t ahead,
                         BatchShare share)
    : batches_(batches), share_(share), epochs_(epochs), ahead_(static_cast<size_t>(ahead)) {
  if (ahead < 1) fail("{} batches are read ahead; at least 1 is needed", ahead);
  thread_ = std::thread([this, epoch, index] {
    std::exception_ptr failure;
    try {
      work(epoch, index);
    } catch (...) {
      failure = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    failure_ = std::move(failure);
    is_done_ = true;
    changed_.notify_all();
  });
}

BatchReader::~BatchReader() {
  {
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void BatchReader::work(uint64_t epoch, int64_t index) {
  for (; epoch < epochs_; ++epoch, index = 0) {
    const EpochPlan plan = batches_.plan(epoch);
    for (; index < std::ssize(plan); ++index) {
      check_stop();
      if (!put(batches_.make(plan, epoch, index, share_))) return;
    }
  }
}

bool BatchReader::put(Batch batch) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return is_stopped_ || ready_.size() < ahead_; });
  if (is_stopped_) return false;
  ready_.push_back(std::move(batch));
  changed_.notify_all();
  return true;
}

std::optional<Batch> BatchReader::next() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !ready_.empty() || is_done_; });
  if (ready_.empty()) {
    if (failure_) std::rethrow_exception(failure_);
    return std::nullopt;
  }
  Batch batch = std::move(ready_.front());
  ready_.pop_front();
  changed_.notify_all();
  return batch;
}

}  // namespace hone
