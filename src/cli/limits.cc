#include "cli/limits.h"

#include <semaphore.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <new>
#include <thread>

#include "base/duration.h"
#include "base/error.h"
#include "base/mapped_file.h"
#include "base/memory_limit.h"
#include "base/printable.h"
#include "base/stop.h"
#include "base/temporary.h"
#include "base/text.h"
#include "cli/terminal_progress.h"

namespace hone {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kGrace = std::chrono::milliseconds(1500);  // for unwinding; work between two check_stop() ends sooner

sem_t wake;
std::atomic<int> caught{0};  // the signal

void on_signal(int signal) {
  caught.store(signal);
  request_stop(Stop::interrupted);
  ::sem_post(&wake);
}

}  // namespace

int interrupted_code() {
  const int signal = caught.load();
  return 128 + (signal != 0 ? signal : SIGINT);
}

bool lost_its_reader() { return caught.load() == SIGPIPE; }

namespace {

[[noreturn]] void end_now(const char* message, int code) {
  remove_temporaries();
  if (!lost_its_reader()) std::fprintf(stderr, "hone: %s\n", printable_message(message).c_str());
  std::_Exit(code);
}

bool wait_until(std::optional<Clock::time_point> when) {  // false: the time came first
  if (!when) {
    while (::sem_wait(&wake) != 0 && errno == EINTR) {
    }
    return true;
  }
  const auto since = std::chrono::duration_cast<std::chrono::nanoseconds>(when->time_since_epoch()).count();
  const timespec until{.tv_sec = since / 1'000'000'000, .tv_nsec = since % 1'000'000'000};
  int failed;
  while ((failed = ::sem_clockwait(&wake, CLOCK_MONOTONIC, &until)) != 0 && errno == EINTR) {
  }
  return failed == 0;
}

// Asks the work to stop, by the signal or at the deadline; what has not ended some time later is ended here.
void watch(std::optional<Clock::time_point> deadline) {
  const bool signalled = wait_until(deadline);
  if (!signalled) request_stop(Stop::timeout);
  wait_until(Clock::now() + kGrace);  // a second signal ends the wait
  if (signalled || caught.load() != 0) end_now("interrupted", interrupted_code());
  end_now("the time limit is reached; --timeout SECONDS sets it", 1);
}

std::string out_of_memory_text() {
  return fmt::format("out of memory: {} is the limit; --max-memory SIZE sets it",
                     human_bytes(static_cast<double>(memory_limit())));
}

// Exceptions that reach a noexcept function, and memory that runs out where none may be thrown (LLVM).
[[noreturn]] void on_terminate() {
  try {
    if (const std::exception_ptr now = std::current_exception()) std::rethrow_exception(now);
  } catch (const std::bad_alloc&) {
    end_now(out_of_memory_text().c_str(), 1);
  } catch (const Stopped& stopped) {
    end_now(stopped.what(), stopped.why() == Stop::timeout ? 1 : interrupted_code());
  } catch (const std::exception& e) {
    std::fprintf(stderr, "hone: %s\n", printable_message(e.what()).c_str());
  } catch (...) {
  }
  remove_temporaries();
  std::abort();
}

// Also what no MemoryCharge counts is held to the limit, by the system: std::bad_alloc instead of the end of this
// process or another.
void limit_heap(int64_t bytes) {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // their shadow memory is data too
  rlimit limit{};
  if (::getrlimit(RLIMIT_DATA, &limit) != 0) return;
  limit.rlim_cur = std::min(static_cast<rlim_t>(bytes), limit.rlim_max);
  ::setrlimit(RLIMIT_DATA, &limit);
#else
  (void)bytes;
#endif
}

std::string expect_seconds(const std::string& text) {
  return parse_seconds(text) ? "" : fmt::format("{}: expected a time above 0 such as 20, 20s, 500ms or 5min", text);
}

// Of a model: its file with those that share its stem (weights beside an .onnx file), or all files of its folder.
double bytes_at(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  const bool folder = fs::is_directory(path, error);
  const fs::path place = folder ? fs::path(path) : fs::path(path).parent_path();
  const std::string stem = folder ? "" : fs::path(path).stem().string();
  double bytes = 0;
  for (fs::directory_iterator it(place.empty() ? "." : place, error), end; !error && it != end; it.increment(error))
    if (it->path().filename().string().starts_with(stem)) {
      std::error_code none;
      const auto size = fs::file_size(it->path(), none);
      if (!none) bytes += static_cast<double>(size);
    }
  return bytes;
}

}  // namespace

std::vector<OptionInfo> LimitFlags::options() {
  constexpr OptionField<LimitFlags> kLimits[] = {
      flag("max-memory", "Refuse what needs more memory than this, e.g. 2GB (default: what the machine has free)",
           &LimitFlags::memory, {.group = "Limits"}),
      flag("timeout", "Give up after this time, e.g. 20, 20s, 500ms or 5min", &LimitFlags::time,
           {.group = "Limits", .value = "TIME"}),
      flag("quiet", "Print no progress and no notes: only the result, warnings and errors", &LimitFlags::quiet,
           {.group = "Messages", .letter = 'q'})};
  return describe_options(std::span<const OptionField<LimitFlags>>(kLimits));
}

void LimitFlags::add_to(CLI::App& app) {
  const std::vector<OptionInfo> all = options();
  app.add_option("--max-memory", memory, all[0].doc)->group(all[0].traits.group);
  app.add_option("--timeout", time, all[1].doc)
      ->check(CLI::Validator(expect_seconds, all[1].traits.value))
      ->group(all[1].traits.group);
  app.add_flag("-q,--quiet", quiet, all[2].doc)->group(all[2].traits.group);
}

void LimitFlags::start(const std::string& inspected) const {
  if (quiet) be_quiet();
  guard_mappings();
  std::set_terminate(on_terminate);
  int64_t most = 0;
  std::optional<double> seconds;
  if (!inspected.empty()) {
    // To look at a file takes little: 1 GB and 4.5 s, and for a large one a few times its size and 20 MB/s.
    const double bytes = bytes_at(inspected);
    most = static_cast<int64_t>(std::min(1e9 + 4 * bytes, static_cast<double>(free_memory_bytes())));
    seconds = 4.5 + bytes / 20e6;
  }
  if (!memory.empty()) {
    const std::optional<double> given = parse_bytes(memory);
    if (!given || *given > 0x1p62) fail("--max-memory {}: expected a size such as 500MB, 2GB or 1.5GiB", memory);
    most = static_cast<int64_t>(*given);
  }
  if (!time.empty()) seconds = parse_seconds(time);
  set_memory_limit(most);
  limit_heap(memory_limit());

  ::sem_init(&wake, 0, 0);
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) {
    struct sigaction before {};
    ::sigaction(signal, nullptr, &before);
    if (before.sa_handler != SIG_IGN) ::sigaction(signal, &action, nullptr);  // nohup, and jobs in the background
  }
  // A file beyond `ulimit -f` is a write that fails (EFBIG). A handler, because programs that are run inherit SIG_IGN.
  action.sa_handler = [](int) {};
  ::sigaction(SIGXFSZ, &action, nullptr);
  std::optional<Clock::time_point> deadline;
  if (seconds)
    deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(*seconds));
  std::thread(watch, deadline).detach();
}

}  // namespace hone
