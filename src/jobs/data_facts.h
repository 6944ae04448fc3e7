// Data of a user as a report names them: by path, contents and size.
#pragma once

#include <string>

#include "jobs/file_facts.h"

namespace hone {

int64_t bytes_in(const std::string& path);  // of a file, or of all files in a folder

// Of a file as it lies there; of a folder the SHA-256 of the data set, as that is read.
FileFacts facts_of_data(const std::string& path);

}  // namespace hone
