// Verbs of the program: one file each in this folder.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/options.h"

namespace CLI {
class App;
}

namespace hone {

// What one comes for: the headings under which help has the verbs, in this order.
enum class VerbTask : uint8_t { use, look, compress, train, measure, formats, other };
inline constexpr const char* kVerbTasks[] = {"Use a model",
                                             "Look into a model",
                                             "Make a model smaller",
                                             "Train and search",
                                             "Measure",
                                             "Number formats and passes",
                                             "More"};

// What a verb's file states as a Verb (verb.h).
struct VerbDef {
  const char* name;
  VerbTask task = VerbTask::other;
  const char* summary;                             // one line for `hone --help`
  const char* examples = "";                       // lines shown at the end of `hone VERB --help`
  std::string (*notes)() = nullptr;                // lines shown before these
  std::vector<OptionInfo> (*options)() = nullptr;  // all that it takes
  void (*setup)(CLI::App& app) = nullptr;          // adds them to the program
  int (*run)() = nullptr;                          // called after parsing; returns the exit code
  bool inspects = false;  // only looks at its MODEL, which takes little: tight limits on time and memory
  std::span<const VerbDef* const> actions =
      {};  // instead of options and run: words that follow, as in `hone lora import`
};

namespace cli {
std::span<const VerbDef* const> all();
}

}  // namespace hone
