#include "jobs/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstring>

#include "base/clock.h"
#include "base/error.h"
#include "base/stop.h"

extern char** environ;

namespace hone {
namespace {

constexpr int kPollMs = 50;
constexpr size_t kMostBytes = size_t{64} << 20;

int wait_for(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

// Of a group of its own, so that what it started ends with it.
int kill_group(pid_t child) {
  ::kill(-child, SIGKILL);
  return wait_for(child);
}

void end_with_us(pid_t child) {
  try {
    check_stop();
  } catch (...) {
    kill_group(child);
    throw;
  }
}

// A pipe that is closed when it dies.
struct Pipe {
  std::array<int, 2> ends{-1, -1};
  Pipe() {
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) fail("can't make a pipe: {}", std::strerror(errno));
  }
  ~Pipe() { close(0), close(1); }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void close(size_t end) {
    if (ends[end] >= 0) ::close(ends[end]);
    ends[end] = -1;
  }
};

pid_t start(const std::vector<std::string>& args, const Pipe& out, const Pipe& err) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, out.ends[1], 1);
  posix_spawn_file_actions_adddup2(&actions, err.ends[1], 2);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  std::vector<char*> argv;
  for (const std::string& arg : args) argv.push_back(const_cast<char*>(arg.c_str()));
  argv.push_back(nullptr);
  pid_t child = 0;
  const int why = ::posix_spawn(&child, args[0].c_str(), &actions, &attributes, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (why != 0) fail("{}: can't start: {}", args[0], std::strerror(why));
  return child;
}

}  // namespace

ChildOutput run_child(const std::vector<std::string>& args, double most_seconds) {
  Pipe out, err;
  const auto begin = std::chrono::steady_clock::now();
  const pid_t child = start(args, out, err);
  out.close(1), err.close(1);
  ChildOutput result;
  // Both at once: a child that fills the pipe of its errors would wait for ever.
  std::array<pollfd, 2> open{{{out.ends[0], POLLIN, 0}, {err.ends[0], POLLIN, 0}}};  // poll skips negative ones
  while (open[0].fd >= 0 || open[1].fd >= 0) {
    end_with_us(child);
    if (milliseconds_since(begin) > most_seconds * 1000) {
      result.status = kill_group(child);
      result.timed_out = true;
      return result;
    }
    if (::poll(open.data(), open.size(), kPollMs) <= 0) continue;
    for (pollfd& pipe : open) {
      if (pipe.revents == 0) continue;
      char buffer[4096];
      const ssize_t n = ::read(pipe.fd, buffer, sizeof buffer);
      if (n < 0 && errno == EINTR) continue;
      if (n > 0) (pipe.fd == out.ends[0] ? result.out : result.errors).append(buffer, static_cast<size_t>(n));
      else pipe.fd = -1;
    }
    if (result.out.size() + result.errors.size() > kMostBytes) {
      kill_group(child);
      fail("{}: was stopped, since it wrote more than {} MiB", args.back(), kMostBytes >> 20);
    }
    if (result.first_line_ms == 0 && result.out.find('\n') != std::string::npos)
      result.first_line_ms = milliseconds_since(begin);
  }
  result.status = wait_for(child);
  return result;
}

}  // namespace hone
