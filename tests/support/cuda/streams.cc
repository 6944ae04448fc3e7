// Streams, events, and the order in which both happen.
#include <chrono>

#include "tests/support/cuda/driver.h"

namespace hone::emulated_cuda {

Stream::Stream(Device& device) : device_(device), thread_([this] { run(); }) {}
Stream::~Stream() {
  {
    std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Stream::push(std::function<void()> task) {
  {
    std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  changed_.notify_all();
}
void Stream::synchronise() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return tasks_.empty() && !busy_; });
}
bool Stream::idle() {
  std::lock_guard lock(mutex_);
  return tasks_.empty() && !busy_;
}

void Stream::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return ends_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    const std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    busy_ = true;
    lock.unlock();
    gate().pass();
    task();
    lock.lock();
    busy_ = false;
    changed_.notify_all();
  }
}

namespace {

double milliseconds_now() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Until as many records as were asked for when it is called have happened.
void wait_for(Event& event) {
  std::unique_lock lock(event.mutex);
  event.changed.wait(lock, [&, asked = event.asked] { return event.happened >= asked; });
}

}  // namespace
}  // namespace hone::emulated_cuda

using namespace hone::emulated_cuda;

extern "C" {
int cuStreamCreate(Stream** stream, unsigned) {
  return call([&] {
    *stream = driver().make<Stream>(driver().current());
    driver().streams.insert(*stream);
  });
}
int cuStreamDestroy_v2(Stream* stream) {
  std::shared_ptr<Stream> last;
  return call_unlocked([&] {
    std::lock_guard lock(driver().mutex);
    last = driver().get(stream);
    driver().handles.erase(stream);
    driver().streams.erase(stream);
  });
}
int cuStreamSynchronize(Stream* stream) {
  return call_unlocked([&] {
    std::shared_ptr<Stream> alive;
    {
      std::lock_guard lock(driver().mutex);
      driver().current();
      alive = driver().get(stream);
    }
    alive->synchronise();
    std::lock_guard lock(driver().mutex);
    driver().current();  // what went wrong meanwhile
  });
}
int cuStreamQuery(Stream* stream) {
  return call([&] {
    driver().current();
    if (!driver().get(stream)->idle()) throw Failed{kNotReady};
  });
}
int cuStreamWaitEvent(Stream* stream, Event* event, unsigned) {
  return call([&] {
    driver().current();
    const auto on = driver().get(event);
    uint64_t asked = 0;
    {
      std::lock_guard lock(on->mutex);
      asked = on->asked;
    }
    driver().get(stream)->push([on, asked] {
      std::unique_lock lock(on->mutex);
      on->changed.wait(lock, [&] { return on->happened >= asked; });
    });
  });
}

int cuEventCreate(Event** event, unsigned) {
  return call([&] {
    driver().current();
    *event = driver().make<Event>();
  });
}
int cuEventDestroy_v2(Event* event) {
  return call([&] {
    const auto last = driver().get(event);
    driver().handles.erase(event);
  });
}
int cuEventRecord(Event* event, Stream* stream) {
  return call([&] {
    driver().current();
    const auto at = driver().get(event);
    uint64_t number = 0;
    {
      std::lock_guard lock(at->mutex);
      number = ++at->asked;
    }
    driver().get(stream)->push([at, number] {
      {
        std::lock_guard lock(at->mutex);
        at->happened = std::max(at->happened, number);
        at->milliseconds = milliseconds_now();
      }
      at->changed.notify_all();
    });
  });
}
int cuEventSynchronize(Event* event) {
  return call_unlocked([&] {
    std::shared_ptr<Event> alive;
    {
      std::lock_guard lock(driver().mutex);
      driver().current();
      alive = driver().get(event);
    }
    wait_for(*alive);
    std::lock_guard lock(driver().mutex);
    driver().current();
  });
}
int cuEventQuery(Event* event) {
  return call([&] {
    driver().current();
    const auto at = driver().get(event);
    std::lock_guard lock(at->mutex);
    if (at->happened < at->asked) throw Failed{kNotReady};
  });
}
int cuEventElapsedTime(float* milliseconds, Event* start, Event* end) {
  return call([&] {
    driver().current();
    double times[2];
    for (int i = 0; i < 2; ++i) {
      const auto at = driver().get(i ? end : start);
      std::lock_guard lock(at->mutex);
      if (at->asked == 0) throw Failed{kInvalidHandle};
      if (at->happened < at->asked) throw Failed{kNotReady};
      times[i] = at->milliseconds;
    }
    *milliseconds = static_cast<float>(times[1] - times[0]);
  });
}
}
