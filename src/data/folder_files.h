// What a folder holds, in an order that does not depend on the file system.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace hone {

// Paths of the files, or folders, directly in a folder whose name `is_wanted`, sorted by name; hidden ones never are.
// Throws Error when the folder can't be read.
std::vector<std::string> files_of(const std::string& folder, const std::function<bool(const std::string&)>& is_wanted);
std::vector<std::string> folders_of(const std::string& folder);

std::string name_of(const std::string& path);  // what follows the last slash

}  // namespace hone
