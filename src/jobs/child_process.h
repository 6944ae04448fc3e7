// Another program, run to its end.
#pragma once

#include <limits>
#include <string>
#include <vector>

namespace hone {

struct ChildOutput {
  std::string out, errors;  // what it wrote
  double first_line_ms = 0;
  int status = 0;  // of waitpid
  bool timed_out = false;
};

// The arguments from the program's path on. With what it started it is killed after that long, and when this process is
// to stop. Throws Error when it can't be started, or writes more than 64 MiB.
ChildOutput run_child(const std::vector<std::string>& args,
                      double most_seconds = std::numeric_limits<double>::infinity());

}  // namespace hone
