// Starts the program under test as a user would, and keeps what it said. The path of the program is the compile
// definition HONE_PROGRAM.
#pragma once

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "tests/io/temporary_folder.h"

namespace hone {

struct ProgramResult {
  int exit_code = -1;  // -1 when a signal ended it
  int signal = 0;
  std::string out, err;
};

struct ProgramOptions {
  std::string input;                     // for its standard input
  std::optional<uint64_t> largest_file;  // bytes that it may write to a file: stands in for a full disk
  std::optional<std::string> output_to;  // a file that takes standard output, instead of ProgramResult::out
  std::vector<std::pair<std::string, std::string>>
      environment;            // set besides the inherited variables, or in their place
  bool unprivileged = false;  // as the user "nobody" where we are root, whom no permission stops
};

namespace detail {

struct Pipe {
  Pipe() { CHECK(::pipe2(ends, O_CLOEXEC) == 0, "no more pipes"); }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void close_end(int i) {
    if (ends[i] >= 0) ::close(ends[i]);
    ends[i] = -1;
  }
  int ends[2] = {-1, -1};
};

// Reads both at once: a program that fills one pipe while we wait for the other would never end.
inline void read_all(Pipe& out, Pipe& err, ProgramResult& result) {
  std::array<char, 65536> buffer;
  while (out.ends[0] >= 0 || err.ends[0] >= 0) {
    std::array<pollfd, 2> waiting{{{out.ends[0], POLLIN, 0}, {err.ends[0], POLLIN, 0}}};  // negative ones are skipped
    if (::poll(waiting.data(), waiting.size(), -1) < 0) continue;
    for (size_t i = 0; i < 2; ++i) {
      if (waiting[i].revents == 0) continue;
      const ssize_t n = ::read(waiting[i].fd, buffer.data(), buffer.size());
      if (n > 0) (i == 0 ? result.out : result.err).append(buffer.data(), static_cast<size_t>(n));
      else (i == 0 ? out : err).close_end(0);
    }
  }
}

constexpr int kNotStarted = 127;

// Between fork and exec: only calls that are safe there.
[[noreturn]] inline void become(char* const* argv, char* const* environment, const ProgramOptions& options, int input,
                                int out, int err) {
  const int program = ::open(argv[0], O_RDONLY | O_CLOEXEC);  // while we may still read the folders above it
  if (options.output_to) out = ::open(options.output_to->c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (::dup2(input, 0) < 0 || ::dup2(out, 1) < 0 || ::dup2(err, 2) < 0) ::_exit(kNotStarted);
  if (options.largest_file) {
    const rlimit limit{*options.largest_file, *options.largest_file};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  constexpr uid_t kNobody = 65534;
  if (options.unprivileged && ::geteuid() == 0 &&
      (::setgroups(0, nullptr) != 0 || ::setgid(kNobody) != 0 || ::setuid(kNobody) != 0))
    ::_exit(kNotStarted);
  ::fexecve(program, argv, environment);
  ::_exit(kNotStarted);
}

// Machine code that all runs of this test program share, and nobody else.
inline const std::string& machine_code_folder() {
  static const TemporaryFolder folder;
  return folder.path();
}

}  // namespace detail

inline ProgramResult run_program(const std::string& program, std::vector<std::string> arguments,
                                 const ProgramOptions& options = {}) {
  std::vector<std::string> variables;
  for (const auto& [name, value] : options.environment) variables.push_back(name + "=" + value);
  variables.push_back("HONE_CACHE=" + detail::machine_code_folder());  // the first of a name counts
  std::vector<char*> argv, environment;
  const auto replaced = [&](std::string_view inherited) {
    const std::string_view name = inherited.substr(0, inherited.find('=') + 1);
    return std::any_of(variables.begin(), variables.end(), [&](const std::string& v) { return v.starts_with(name); });
  };
  for (char** inherited = environ; *inherited; ++inherited)
    if (!replaced(*inherited)) environment.push_back(*inherited);
  for (std::string& variable : variables) environment.push_back(variable.data());
  environment.push_back(nullptr);
  arguments.insert(arguments.begin(), program);
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);

  detail::Pipe input, out, err;
  CHECK(options.input.size() <= 65536, "more than a pipe holds");
  const pid_t child = ::fork();
  CHECK(child >= 0, "can't fork");
  if (child == 0) detail::become(argv.data(), environment.data(), options, input.ends[0], out.ends[1], err.ends[1]);
  input.close_end(0);
  out.close_end(1);
  err.close_end(1);
  const ssize_t written = ::write(input.ends[1], options.input.data(), options.input.size());
  CHECK(written == static_cast<ssize_t>(options.input.size()), "the program did not take its input");
  input.close_end(1);
  ProgramResult result;
  detail::read_all(out, err, result);
  int status = 0;
  CHECK(::waitpid(child, &status, 0) == child, "the program is gone");
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  CHECK(result.exit_code != detail::kNotStarted, "{} could not be started as asked", program);
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  return result;
}

#ifdef HONE_PROGRAM
inline ProgramResult hone_program(const std::vector<std::string>& arguments, const ProgramOptions& options = {}) {
  return run_program(HONE_PROGRAM, arguments, options);
}
#endif

}  // namespace hone
