// What a test of hostile input runs under: a small limit on memory, and a stop after a moment, which is an allowed
// outcome. Code that asks nobody whether to go on ends the test program, and what ran is named then and after a signal.
#pragma once

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>

#include "base/memory_limit.h"
#include "base/stop.h"

namespace hone::test {

class WorkGuard {
 public:
  explicit WorkGuard(int64_t bytes) : thread_([this] { watch(); }) {
    set_memory_limit(memory_charged() + bytes);
    for (const int signal : {SIGABRT, SIGFPE, SIGSEGV, SIGILL}) std::signal(signal, name_and_end);
  }
  ~WorkGuard() {
    done_ = true;
    thread_.join();
    request_stop(Stop::none);
    set_memory_limit(0);
  }

  void begin(const std::string& what) {
    const std::lock_guard lock(mutex_);
    std::snprintf(running, sizeof running, "while running %s\n", what.c_str());
    ticks_ = 0;
    runs_ = true;
    request_stop(Stop::none);
  }
  void end() {
    const std::lock_guard lock(mutex_);
    runs_ = false;
    request_stop(Stop::none);
  }

 private:
  static constexpr int kStopAfter = 3, kGiveUpAfter = 6000;  // ticks

  static inline char running[2000] = "";

  static void name_and_end(int signal) {
    (void)!::write(STDERR_FILENO, running, std::strlen(running));
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }

  void watch() {
    while (!done_) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      const std::lock_guard lock(mutex_);
      if (!runs_) continue;
      if (++ticks_ == kStopAfter) request_stop(Stop::timeout);
      if (ticks_ < kGiveUpAfter) continue;
      std::fprintf(stderr, "does not stop: ");
      std::abort();
    }
  }

  std::mutex mutex_;
  bool runs_ = false;
  int ticks_ = 0;
  std::atomic<bool> done_ = false;
  std::thread thread_;
};

}  // namespace hone::test
