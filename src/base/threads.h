// One pool of threads for the whole process: short fork-join regions, small chunks handed out dynamically, the caller
// takes part. Regions of different callers proceed side by side: no caller waits for another's.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace hone {

// Non-owning reference to a callable; the callable outlives the call it is passed to.
class ChunkFn {
 public:
  template <class F>
  ChunkFn(F& f) : object_(&f), call_([](void* o, int64_t b, int64_t e, int t) { (*static_cast<F*>(o))(b, e, t); }) {}
  void operator()(int64_t begin, int64_t end, int thread) const { call_(object_, begin, end, thread); }

 private:
  void* object_;
  void (*call_)(void*, int64_t, int64_t, int);
};

int hardware_threads();

// Says that the thread that makes this computes for as long as it lives, between its regions too. Workers take part in
// regions while there are CPUs left beside the threads that are busy, so callers that fill the machine run alone.
class Busy {
 public:
  Busy();
  ~Busy();
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;
};

// Runs fn(begin, end, thread) over [0, n) in chunks of at most `grain`, on up to `threads` threads (the caller is
// thread 0; each number is that of one thread at a time). May be called by any number of threads at once. Chunk
// boundaries depend on n and grain only. The exception of the lowest chunk is rethrown after all have finished. Calls
// from inside a chunk run serially.
void parallel_chunks(int64_t n, int64_t grain, int threads, ChunkFn fn);

// fn(i) for each i in [0, n), on all hardware threads.
template <class F>
void parallel_for(int64_t n, F&& fn, int64_t grain = 1) {
  auto chunk = [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) fn(i);
  };
  parallel_chunks(n, grain, hardware_threads(), chunk);
}

}  // namespace hone
