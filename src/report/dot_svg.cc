#include "report/dot_svg.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "base/stop.h"
#include "base/text.h"

namespace hone {
namespace {

// The program's path, "" when no folder of PATH has it.
std::string find_program(const std::string& name) {
  const char* path = std::getenv("PATH");
  for (const std::string& folder : split(path ? path : "/usr/bin:/bin", ':')) {
    const std::string file = (folder.empty() ? "." : folder) + "/" + name;
    if (access(file.c_str(), X_OK) == 0) return file;
  }
  return "";
}

// A pipe whose ends are closed when this goes and are not inherited by other programs.
struct Pipe {
  int ends[2] = {-1, -1};
  Pipe() {
    if (pipe2(ends, O_CLOEXEC) != 0) fail("can't open a pipe to run dot: {}", std::strerror(errno));
  }
  ~Pipe() { close_end(0), close_end(1); }
  void close_end(int i) {
    if (ends[i] >= 0) close(ends[i]);
    ends[i] = -1;
  }
};

class DotProcess {
 public:
  explicit DotProcess(const std::string& program) {
    pid_ = fork();
    if (pid_ < 0) fail("can't start {}: {}", program, std::strerror(errno));
    if (pid_ > 0) {
      in_.close_end(0), out_.close_end(1), err_.close_end(1);
      fcntl(in_.ends[1], F_SETFL, O_NONBLOCK);
      return;
    }
    // Only calls that are safe after fork in a program with threads.
    dup2(in_.ends[0], 0), dup2(out_.ends[1], 1), dup2(err_.ends[1], 2);
    // Bounds on its search for the best picture: a tangled graph of 700 edges takes 7 s instead of minutes.
    execl(program.c_str(), "dot", "-Tsvg", "-Gnslimit=1", "-Gnslimit1=1", "-Gmclimit=0.3", static_cast<char*>(nullptr));
    _exit(127);
  }
  ~DotProcess() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  DotProcess(const DotProcess&) = delete;

  // Writes and reads by turns, since dot may fill its output before it has read all of its input.
  void exchange(std::string_view input) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (out_.ends[0] >= 0 || err_.ends[0] >= 0) {
      check_stop();
      if (std::chrono::steady_clock::now() > deadline)
        fail(
            "dot took longer than a minute for this graph; write the DOT text instead (-o g.dot) and lay it out with: "
            "sfdp -Tsvg");
      std::array<pollfd, 3> waiting{{{in_.ends[1], POLLOUT, 0}, {out_.ends[0], POLLIN, 0}, {err_.ends[0], POLLIN, 0}}};
      poll(waiting.data(), waiting.size(), 1000);
      if (waiting[0].revents) feed(input);
      if (waiting[1].revents) drain(out_, output);
      if (waiting[2].revents) drain(err_, errors);
    }
  }

  int wait() {
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    return status;
  }

  std::string output, errors;

 private:
  void feed(std::string_view& input) {
    const ssize_t written = write(in_.ends[1], input.data(), input.size());
    if (written > 0) input.remove_prefix(static_cast<size_t>(written));
    if (input.empty() || (written < 0 && errno != EAGAIN && errno != EINTR)) in_.close_end(1);
  }
  void drain(Pipe& pipe, std::string& into) {
    char buffer[1 << 16];
    const ssize_t got = read(pipe.ends[0], buffer, sizeof buffer);
    if (got > 0) into.append(buffer, static_cast<size_t>(got));
    else if (got == 0 || errno != EINTR) pipe.close_end(0);
  }

  Pipe in_, out_, err_;
  pid_t pid_ = -1;
};

// Writing to a dot that has died must give an error, not end this program.
class IgnoreBrokenPipe {
 public:
  IgnoreBrokenPipe() {
    sigset_t pipe_signal;
    sigemptyset(&pipe_signal), sigaddset(&pipe_signal, SIGPIPE);
    sigpending(&before_);
    pthread_sigmask(SIG_BLOCK, &pipe_signal, &mask_);
  }
  ~IgnoreBrokenPipe() {
    sigset_t pipe_signal, now;
    sigemptyset(&pipe_signal), sigaddset(&pipe_signal, SIGPIPE), sigpending(&now);
    const timespec at_once{};
    if (sigismember(&now, SIGPIPE) && !sigismember(&before_, SIGPIPE)) sigtimedwait(&pipe_signal, nullptr, &at_once);
    pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
  }

 private:
  sigset_t mask_, before_;
};

}  // namespace

bool dot_installed() { return !find_program("dot").empty(); }

std::string dot_svg(const std::string& dot) {
  const std::string program = find_program("dot");
  if (program.empty())
    fail(
        "drawing a graph as SVG needs the program dot of Graphviz, which is not in PATH. Try: apt-get install "
        "graphviz, or write "
        "DOT text with -o g.dot");
  const IgnoreBrokenPipe guard;
  DotProcess process(program);
  process.exchange(dot);
  const int status = process.wait();
  const size_t begin = process.output.find("<svg");
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || begin == std::string::npos)
    fail("dot refused the graph: {}",
         process.errors.empty() ? "it gave no reason" : trim(process.errors.substr(0, 400)));
  return process.output.substr(begin);
}

}  // namespace hone
