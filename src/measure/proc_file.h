// Reads the small text files by which the kernel describes the machine. They have no size, so read_file() does not fit.
#pragma once

#include <string>

namespace hone {

std::string read_proc(const std::string& path);  // "" when it can't be read: such files are absent on some machines

}  // namespace hone
