#include "measure/proc_file.h"

#include <fstream>
#include <sstream>

namespace hone {

std::string read_proc(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace hone
