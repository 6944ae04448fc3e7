// The program under test while it runs: signals reach it when it is ready for them, without waiting for a time.
#pragma once

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "tests/io/temporary_folder.h"

namespace hone {

class RunningProgram {
 public:
  RunningProgram(const std::string& program, std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), program);
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    const std::string output_file = folder_ / "out", error_file = folder_ / "err";
    child_ = ::fork();
    CHECK(child_ >= 0, "can't fork");
    if (child_ != 0) return;
    const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    const int out = ::open(output_file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    const int err = ::open(error_file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    for (int signal : {SIGINT, SIGTERM, SIGPIPE})
      ::signal(signal, SIG_DFL);  // background jobs of a shell ignore SIGINT
    if (::dup2(nothing, 0) < 0 || ::dup2(out, 1) < 0 || ::dup2(err, 2) < 0) ::_exit(127);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  ~RunningProgram() {
    if (ended_) return;
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }
  RunningProgram(const RunningProgram&) = delete;
  RunningProgram& operator=(const RunningProgram&) = delete;

  // Gives way until `is_so()`; false when the program has ended before.
  bool until(const std::function<bool()>& is_so) {
    while (!is_so()) {
      if (ended()) return false;
      ::sched_yield();
    }
    return true;
  }
  bool catches(int signal) const {
    const std::string status = content_of("/proc/" + std::to_string(child_) + "/status");
    const size_t at = status.find("SigCgt:");
    return at != std::string::npos && (std::stoull(status.substr(at + 7), nullptr, 16) >> (signal - 1) & 1) != 0;
  }
  void send(int signal) const { ::kill(child_, signal); }

  // Waits for the end: the exit code, or minus the signal that ended it.
  int end() {
    if (!ended_) CHECK(::waitpid(child_, &status_, 0) == child_, "the program is gone");
    ended_ = true;
    return WIFEXITED(status_) ? WEXITSTATUS(status_) : -WTERMSIG(status_);
  }
  std::string out() const { return content_of(folder_ / "out"); }
  std::string err() const { return content_of(folder_ / "err"); }

 private:
  bool ended() {
    if (!ended_) ended_ = ::waitpid(child_, &status_, WNOHANG) == child_;
    return ended_;
  }
  TemporaryFolder folder_;
  pid_t child_ = -1;
  int status_ = 0;
  bool ended_ = false;
};

}  // namespace hone
