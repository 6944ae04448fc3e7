// Verbs of the program: one file each in this folder.
#pragma once

#include <span>

namespace CLI {
class App;
}

namespace hone {

struct VerbDef {
  const char* name;
  const char* summary;   // one line for `hone --help`
  const char* examples;  // lines shown at the end of `hone VERB --help`
  // Adds the options to `app`; the returned state lives in the verb's file. run() is called after parsing and returns
  // the exit code.
  void (*setup)(CLI::App& app);
  int (*run)();
  bool inspects = false;  // only looks at its MODEL, which takes little: tight limits on time and memory
};

namespace cli {
std::span<const VerbDef* const> all();
}

}  // namespace hone
