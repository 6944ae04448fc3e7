// A thread that does tasks in the order in which they were asked for: the queue of a device that does things later.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "base/clock.h"

namespace hone {

class TaskThread {
 public:
  TaskThread() : worker_([this] { work(); }) {}
  ~TaskThread() {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    changed_.notify_all();
    worker_.join();
  }
  TaskThread(const TaskThread&) = delete;
  TaskThread& operator=(const TaskThread&) = delete;

  void enqueue(std::function<void()> task) {
    {
      const std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(task));
      ++asked_;
    }
    changed_.notify_all();
  }
  // As those of Queue.
  uint64_t record() {
    const std::lock_guard lock(mutex_);
    times_.try_emplace(asked_, done_ == asked_ ? steady_ns() : 0);
    return asked_;
  }
  void wait(uint64_t event) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return done_ >= event; });
  }
  double elapsed_ns(uint64_t from, uint64_t to) const {
    const std::lock_guard lock(mutex_);
    return static_cast<double>(times_.at(to) - times_.at(from));
  }
  void forget_events() {
    const std::lock_guard lock(mutex_);
    times_.clear();
  }
  void synchronise() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return done_ == asked_; });
    if (std::exception_ptr failure = std::exchange(failure_, nullptr)) std::rethrow_exception(failure);
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return ends_ || !tasks_.empty(); });
      if (ends_) return;  // what was not begun is dropped
      std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      const bool runs = !failure_;  // what comes after a failure reads what was never made
      lock.unlock();
      std::exception_ptr failure;
      try {
        if (runs) task();
      } catch (...) {
        failure = std::current_exception();
      }
      task = nullptr;  // what it holds goes before anyone hears that it is done
      lock.lock();
      if (failure) failure_ = failure;
      if (const auto event = times_.find(++done_); event != times_.end()) event->second = steady_ns();
      changed_.notify_all();
    }
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  uint64_t asked_ = 0, done_ = 0;
  std::map<uint64_t, int64_t> times_;  // of events, when they happened
  std::exception_ptr failure_;
  bool ends_ = false;
  std::thread worker_;  // last: it reads the others
};

}  // namespace hone
