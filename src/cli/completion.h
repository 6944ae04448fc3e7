// What shells complete behind the program's name: verbs, their options, and the values that an option takes.
#pragma once

#include <span>
#include <string>

#include "cli/registry.h"

namespace hone {

std::string bash_completion(const char* program, std::span<const VerbDef* const> verbs);
std::string zsh_completion(const char* program, std::span<const VerbDef* const> verbs);
std::string fish_completion(const char* program, std::span<const VerbDef* const> verbs);

}  // namespace hone
