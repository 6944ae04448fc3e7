// Files of caches, and others that may just as well not be there: reading one never waits and follows no link.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace hone {

// What a plain file of at most `most` bytes holds. None when there is none, it can't be read, it is larger, or the path
// is a link, a FIFO, a device or a folder, or belongs to a user other than this one and root.
std::optional<std::string> read_regular_file(const std::string& path, size_t most);

// Whether the path is a plain file, or free for one: what a rename may replace.
bool is_regular_or_absent(const std::string& path);

}  // namespace hone
