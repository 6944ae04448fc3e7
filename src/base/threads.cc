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

#include "base/clock.h"
#include "base/memory_limit.h"
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
  bool stoppable = !Unstoppable::here();
  MemoryBudget* budget = MemoryScope::here();  // of the caller, who waits for all threads
  std::atomic<int64_t> next{0};
  std::mutex failure_mutex;
  int64_t failed_chunk = -1;
  std::exception_ptr failure;

  void work(int thread) {
    const MemoryScope scope(budget);
    for (int64_t first; (first = next.fetch_add(claim, std::memory_order_relaxed)) < chunks;)
      for (int64_t c = first; c < std::min(chunks, first + claim); ++c) run_chunk(c, thread);
  }

  void run_chunk(int64_t c, int thread) {
    try {
      if (stoppable) check_stop();
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
thread_local int busy_scopes = 0;  // of this thread

std::atomic<int> busy_threads{0};  // callers and workers

// Where workers find the region of one caller. One word says all of it: whether the slot is taken, whether its region
// is open (the caller still hands out chunks), how many of the workers that joined are inside, and how many more may
// join. A worker that comes too late finds it closed, and nobody has waited for it.
class alignas(64) Slot {
 public:
  bool take() {
    uint64_t free = 0;
    return word_.load(std::memory_order_relaxed) == 0 &&
           word_.compare_exchange_strong(free, kTaken, std::memory_order_acquire, std::memory_order_relaxed);
  }

  void open(Region& region, int seats) {
    region_ = &region;
    seats_ = seats;
    word_.store(kTaken | kOpen | static_cast<uint64_t>(seats) * kSeat, std::memory_order_release);
  }

  // Waits for the workers inside; the slot is free then.
  void close() {
    word_.fetch_and(~kOpen, std::memory_order_relaxed);
    for (int spin = 0; (word_.load(std::memory_order_acquire) & kAllInside) > 0; ++spin) {
      if (spin < kSpins) pause();
      else std::this_thread::yield();
    }
    word_.store(0, std::memory_order_release);
  }

  // The number of the thread that this worker now is in region(); 0 where there is no seat.
  int join() {
    uint64_t word = word_.load(std::memory_order_relaxed);
    while ((word & kOpen) && word >= kSeat)
      if (word_.compare_exchange_weak(word, word - kSeat + kInside, std::memory_order_acquire,
                                      std::memory_order_relaxed))
        return seats_ + 1 - static_cast<int>(word / kSeat);
    return 0;
  }
  Region& region() const { return *region_; }
  void leave() { word_.fetch_sub(kInside, std::memory_order_release); }

 private:
  static constexpr uint64_t kTaken = 1, kOpen = 2, kInside = 1 << 16, kAllInside = 0xffff'0000,
                            kSeat = uint64_t{1} << 32;

  std::atomic<uint64_t> word_{0};
  Region* region_ = nullptr;  // this and seats_: written while the slot is taken and closed
  int seats_ = 0;
};

// Tells the system which CPUs the workers may run on. A sleeping worker that is woken often starts on the CPU of the
// thread that wakes it, and waits there until that one has done all the work (two CPUs, ResNet-18, a pause of 20 ms
// before each call: no gain from the second thread). So where CPUs are few, workers stay off the CPU of a caller that
// is alone. Callers that take turns, or one that moves again within kCalm, are not followed: then, and where there are
// CPUs enough that the system finds a free one, workers run anywhere.
class Placement {
 public:
  Placement() {
    if (sched_getaffinity(0, sizeof usable_, &usable_) != 0) CPU_ZERO(&usable_);
    const int cpus = CPU_COUNT(&usable_);
    few_ = cpus > 1 && cpus <= kFewCpus;
  }

  void keep_off_this_cpu(std::vector<std::thread>& workers) {
    if (!few_) return;
    const int cpu = sched_getcpu();
    const void* const caller = &inside_region;
    if (avoided_.load(std::memory_order_relaxed) == cpu && caller_.load(std::memory_order_relaxed) == caller) return;
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock || cpu < 0) return;
    const int64_t now = steady_ns();
    const bool calm = now - changed_ns_ >= kCalm;
    if (caller_ == caller && cpu_ == cpu) {
      if (calm) avoid(cpu, workers);
      return;
    }
    avoid(calm && (!caller_ || caller_ == caller) ? cpu : kNone, workers);
    caller_ = caller;
    cpu_ = cpu;
    changed_ns_ = now;
  }

 private:
  static constexpr int kNone = -1, kFewCpus = 4;
  static constexpr int64_t kCalm = 10'000'000;  // in ns: at most two system calls for each worker in this time

  void avoid(int cpu, std::vector<std::thread>& workers) {
    if (cpu == avoided_) return;
    avoided_ = cpu;
    cpu_set_t allowed = usable_;
    if (cpu != kNone) CPU_CLR(cpu, &allowed);
    for (std::thread& t : workers) pthread_setaffinity_np(t.native_handle(), sizeof allowed, &allowed);
  }

  cpu_set_t usable_{};  // what the process may run on
  bool few_ = false;
  std::atomic<int> avoided_{kNone};
  std::atomic<const void*> caller_{nullptr};  // the last: an address that its thread alone has
  std::mutex mutex_;
  int cpu_ = kNone;  // where it was
  int64_t changed_ns_ = -kCalm;
};

// Regions of different callers are open side by side, each in a slot. No worker is woken for, or joins, a region while
// as many threads are busy as there are CPUs: callers that fill the machine do their chunks alone.
class Pool {
 public:
  explicit Pool(int workers) : slots_(static_cast<size_t>(workers)) {
    try {
      for (int i = 0; i < workers; ++i) threads_.emplace_back([this] { run(); });
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

  void execute(Region& region, int threads) {
    const Busy busy;
    inside_region = true;
    Slot* const slot = free_slot();
    if (slot) {
      const int seats = std::min(threads, cpus()) - 1;
      const int wanted = std::min(seats, cpus() - busy_threads.load(std::memory_order_relaxed));
      if (wanted > 0) placement_.keep_off_this_cpu(threads_);
      slot->open(region, seats);
      if (wanted > 0) wake(wanted);
    }
    region.work(0);
    if (slot) slot->close();
    inside_region = false;
  }

 private:
  int cpus() const { return static_cast<int>(slots_.size()) + 1; }

  Slot* free_slot() {
    for (size_t i = 0; i < slots_.size(); ++i)
      if (slots_[i].take()) {
        size_t used = used_.load(std::memory_order_relaxed);
        while (used <= i && !used_.compare_exchange_weak(used, i + 1, std::memory_order_relaxed)) {
        }
        return &slots_[i];
      }
    return nullptr;
  }

  void wake(int workers) {
    epoch_.fetch_add(1);  // sequentially consistent: notify must not read its count of waiters before
    if (workers >= static_cast<int>(slots_.size())) return epoch_.notify_all();
    for (int i = 0; i < workers; ++i) epoch_.notify_one();
  }

  // Works on a region that has a seat; whether there was one.
  bool help() {
    const size_t used = used_.load(std::memory_order_relaxed);
    for (size_t i = 0; i < used; ++i) {
      if (busy_threads.load(std::memory_order_relaxed) >= cpus()) return false;
      const int thread = slots_[i].join();
      if (thread == 0) continue;
      {
        const Busy busy;  // ends first: the caller's next region is to find a CPU left
        slots_[i].region().work(thread);
      }
      slots_[i].leave();
      return true;
    }
    return false;
  }

  void run() {
    inside_region = true;
    for (;;) {
      const uint32_t seen =
          epoch_.load(std::memory_order_acquire);  // before looking: a region that comes after changes it
      if (stop_) return;
      if (help()) continue;
      for (int spin = 0; epoch_.load(std::memory_order_acquire) == seen && spin < kSpins; ++spin) pause();
      epoch_.wait(seen, std::memory_order_acquire);
    }
  }

  std::vector<Slot> slots_;  // as many as workers, which is as many regions as can have one each
  std::vector<std::thread> threads_;
  Placement placement_;
  std::atomic<size_t> used_{0};  // slots that were ever taken: the first ones
  alignas(64) std::atomic<uint32_t> epoch_{0};
  std::atomic<bool> stop_{false};
};

// The process's pool is made when it is first needed, and once more in a child of fork(), which has none of its
// threads. What the child inherits stays where it is: threads that are not there cannot be joined.
class PoolOfProcess {
 public:
  PoolOfProcess() {
    pthread_atfork(nullptr, nullptr, [] { forget_in_child(); });
  }
  ~PoolOfProcess() { delete pool_; }

  static Pool& get() {
    pthread_once(&made_, [] { pool_ = new Pool(hardware_threads() - 1); });
    return *pool_;
  }

 private:
  static void forget_in_child() {
    made_ = PTHREAD_ONCE_INIT;
    pool_ = nullptr;
    busy_threads = busy_scopes > 0 ? 1 : 0;  // the thread that called fork() is the only one
  }

  static inline pthread_once_t made_ = PTHREAD_ONCE_INIT;
  static inline Pool* pool_ = nullptr;
};
const PoolOfProcess pool_of_process;

}  // namespace

Busy::Busy() {
  if (busy_scopes++ == 0) busy_threads.fetch_add(1, std::memory_order_relaxed);
}
Busy::~Busy() {
  if (--busy_scopes == 0) busy_threads.fetch_sub(1, std::memory_order_relaxed);
}

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
  else PoolOfProcess::get().execute(region, threads);
  if (region.failure) std::rethrow_exception(region.failure);
}

}  // namespace hone
