// Workers sleep on a futex and spin only briefly (about the length of a short kernel) before sleeping, so that a
// waiting thread never takes a busy neighbour's core. Chunks are claimed with one atomic increment; a descheduled
// worker delays at most the one that it holds.
#include "base/threads.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "base/stop.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace hone {
namespace {

constexpr int kSpins = 2000;  // pauses of ~40 cycles: about 20-30 us, the order of one kernel step

constexpr int64_t kClaimsPerThread = 16;  // the last one may run alone: it is 6 % of a thread's share

void pause() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

struct Region {
  ChunkFn fn;
  int64_t n, grain, chunks, claim;  // claim: chunks that a thread takes at once
  std::atomic<int64_t> next{0};
  std::mutex failure_mutex;
  int64_t failed_chunk = -1;
  std::exception_ptr failure;

  void work(int thread) {
    for (int64_t first; (first = next.fetch_add(claim, std::memory_order_relaxed)) < chunks;)
      for (int64_t c = first; c < std::min(chunks, first + claim); ++c) run_chunk(c, thread);
  }

  void run_chunk(int64_t c, int thread) {
    try {
      check_stop();
      fn(c * grain, std::min(n, (c + 1) * grain), thread);
    } catch (const Stopped&) {
      next.store(chunks, std::memory_order_relaxed);  // the others would throw the same
      note_failure(c);
    } catch (...) {
      note_failure(c);
    }
  }

  void note_failure(int64_t c) {
    std::lock_guard lock(failure_mutex);
    if (failed_chunk < 0 || c < failed_chunk) failed_chunk = c, failure = std::current_exception();
  }
};

thread_local bool inside_region = false;

// A region is open while its caller still hands out chunks. A worker joins an open one; one that wakes too late finds
// it closed and nobody has waited for it.
class Pool {
 public:
  explicit Pool(int workers) {
    if (sched_getaffinity(0, sizeof usable_, &usable_) != 0) CPU_ZERO(&usable_);
    try {
      for (int i = 0; i < workers; ++i) threads_.emplace_back([this, i] { run(i + 1); });
    } catch (const std::system_error&) {
      // The system grants no more threads: those that there are do the work.
    }
  }
  ~Pool() {
    stop_ = true;
    epoch_.fetch_add(1);
    epoch_.notify_all();
    for (std::thread& t : threads_) t.join();
  }
  int size() const { return static_cast<int>(threads_.size()) + 1; }

  void execute(Region& region, int threads) {
    std::lock_guard one_region(region_mutex_);
    keep_off_callers_cpu();
    const uint32_t epoch = epoch_.load(std::memory_order_relaxed) + 1;
    wanted_.store(std::min(threads, size()) - 1, std::memory_order_relaxed);
    region_.store(&region, std::memory_order_relaxed);
    gate_.store(uint64_t{epoch} << 32 | kOpen, std::memory_order_release);
    epoch_.store(epoch);  // sequentially consistent: notify_all must not read its count of waiters before
    epoch_.notify_all();
    inside_region = true;
    region.work(0);
    inside_region = false;
    gate_.fetch_and(~kOpen, std::memory_order_relaxed);
    for (int spin = 0; (gate_.load(std::memory_order_acquire) & kJoined) > 0; ++spin) {
      if (spin < kSpins) pause();
      else std::this_thread::yield();
    }
  }

 private:
  static constexpr uint64_t kJoined = 0xffff, kOpen = 1 << 16;  // the epoch is in the upper half of gate_

  // A sleeping worker that is woken often starts on the CPU of the thread that wakes it, and waits there until that one
  // has done all the work (two CPUs, ResNet-18, a pause of 20 ms before each call: no gain from the second
  // thread). So workers stay off the caller's CPU; the system is told when the caller has moved.
  void keep_off_callers_cpu() {
    const int cpu = sched_getcpu();
    if (cpu == callers_cpu_ || cpu < 0) return;
    callers_cpu_ = cpu;
    cpu_set_t others = usable_;
    CPU_CLR(cpu, &others);
    if (CPU_COUNT(&others) == 0) return;
    for (std::thread& t : threads_) pthread_setaffinity_np(t.native_handle(), sizeof others, &others);
  }

  // Whether this worker now belongs to region `epoch`, whose caller waits for it from then on.
  bool join(uint32_t epoch) {
    uint64_t gate = gate_.load(std::memory_order_relaxed);
    while ((gate & kOpen) && gate >> 32 == epoch)
      if (gate_.compare_exchange_weak(gate, gate + 1, std::memory_order_acquire, std::memory_order_relaxed))
        return true;
    return false;
  }

  void run(int index) {
    inside_region = true;
    uint32_t seen = 0;
    for (;;) {
      for (int spin = 0; epoch_.load(std::memory_order_acquire) == seen && spin < kSpins; ++spin) pause();
      epoch_.wait(seen, std::memory_order_acquire);
      seen = epoch_.load(std::memory_order_acquire);
      if (stop_) return;
      if (index > wanted_.load(std::memory_order_relaxed) || !join(seen)) continue;
      region_.load(std::memory_order_relaxed)->work(index);
      gate_.fetch_sub(1, std::memory_order_release);
    }
  }

  std::vector<std::thread> threads_;
  cpu_set_t usable_{};  // what the process may run on
  int callers_cpu_ = -1;
  std::mutex region_mutex_;
  std::atomic<Region*> region_{nullptr};
  std::atomic<uint32_t> epoch_{0};
  std::atomic<uint64_t> gate_{0};
  std::atomic<int> wanted_{0};
  std::atomic<bool> stop_{false};
};

Pool& pool() {
  static Pool the_pool(hardware_threads() - 1);
  return the_pool;
}

}  // namespace

int hardware_threads() {
  static const int count = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  return count;
}

void parallel_chunks(int64_t n, int64_t grain, int threads, ChunkFn fn) {
  if (n <= 0) return;
  grain = std::max<int64_t>(grain, 1);
  const int64_t chunks = (n + grain - 1) / grain;
  Region region{.fn = fn,
                .n = n,
                .grain = grain,
                .chunks = chunks,
                .claim = std::max<int64_t>(1, chunks / (kClaimsPerThread * std::max(1, threads))),
                .failure_mutex = {},
                .failure = {}};
  if (threads <= 1 || region.chunks == 1 || inside_region || hardware_threads() == 1) region.work(0);
  else pool().execute(region, threads);
  if (region.failure) std::rethrow_exception(region.failure);
}

}  // namespace hone
