// DOT text drawn by the Graphviz program `dot`, when it is installed.
#pragma once

#include <string>

namespace hone {

bool dot_installed();

// The <svg> element, without XML prologue. Throws Error when `dot` is missing (how to install it), fails (what it
// said), or takes longer than a minute (what to draw instead).
std::string dot_svg(const std::string& dot);

}  // namespace hone
