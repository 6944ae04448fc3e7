// What one run of the program may take and say: --max-memory, --timeout and --quiet of every verb, and an end that
// leaves no temporary files behind, whether it comes from Ctrl-C, SIGTERM, a reader that went away, the limits on time
// and the size of files (ulimit -f), or memory that runs out inside a library.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/option_tables.h"

namespace hone {

// 128 and the number of the signal, as shells have it: 130 after Ctrl-C, 143 after SIGTERM.
int interrupted_code();
bool lost_its_reader();  // SIGPIPE: what reads the output has enough, and nothing is to be said

struct LimitFlags {
  std::string memory, time;  // empty: not given
  bool quiet = false;
  static std::vector<OptionInfo> options();  // what each verb takes for them
  void add_to(CLI::App& app);

  // Starts what watches over the limits; called once, before the verb runs. `inspected`: the file that a verb only
  // looks at, whose limits are tight unless given; empty: none.
  void start(const std::string& inspected) const;
};

}  // namespace hone
