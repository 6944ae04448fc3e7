// DOT text drawn by the Graphviz program `dot`, when it is installed.
#pragma once

#include <optional>
#include <string>

namespace hone {

bool dot_installed();

// The <svg> element, without XML prologue. Throws Error when `dot` is missing (how to install it), fails (what it
// said), or takes longer than a minute (what to draw instead). Whoever asks for a stop ends dot, too.
std::string dot_svg(const std::string& dot);

// The same; none when dot takes longer than that.
std::optional<std::string> dot_svg_within(const std::string& dot, double seconds);

}  // namespace hone
