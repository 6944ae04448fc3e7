// A thread that makes the next batches while the last one is worked on.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

#include "data/batches.h"

namespace hone {

class BatchReader {
 public:
  static constexpr int64_t kAhead = 2;
  // The batches from `index` of `epoch` on, up to the end of epoch `epochs` - 1, of each this share; at most `ahead`
  // wait, and one more is in the making. What `batches` looks at must outlive this.
  BatchReader(const Batches& batches, uint64_t epochs, uint64_t epoch = 0, int64_t index = 0, int64_t ahead = kAhead,
              BatchShare share = {});
  ~BatchReader();  // ends the thread, which finishes the batch that it is at
  BatchReader(const BatchReader&) = delete;
  BatchReader& operator=(const BatchReader&) = delete;

  // None at the end. What the thread threw is thrown here, after the batches made before it, and at each further call.
  std::optional<Batch> next();

 private:
  void work(uint64_t epoch, int64_t index);
  bool put(Batch batch);  // false: nobody wants more

  const Batches& batches_;
  const BatchShare share_;
  const uint64_t epochs_;
  const size_t ahead_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Batch> ready_;
  std::exception_ptr failure_;
  bool is_done_ = false, is_stopped_ = false;
  std::thread thread_;
};

}  // namespace hone
