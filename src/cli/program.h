// A program of verbs: one subcommand each, limits around it, and what is said at each kind of end. hone has the verbs
// of this folder; examples/demo has them and one of its own.
#pragma once

#include <span>
#include <string>

#include "cli/registry.h"

namespace hone {

// The exit code: 0 done, 1 bad input, 2 wrong usage, 70 a bug of ours, 130 and 143 interrupted. `name`: as one types
// it.
int run_program(const char* name, std::span<const VerbDef* const> verbs, int argc, char** argv);

// Of the program that runs: its name and verbs, and what help says of the words, those of a verb and its action; of
// none what it says of all. Throws Error for others, with the nearest.
struct ProgramVerbs {
  const char* name;
  std::span<const VerbDef* const> verbs;
};
ProgramVerbs this_programs_verbs();
std::string help_text(std::span<const std::string> words);

}  // namespace hone
