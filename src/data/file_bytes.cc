#include "data/file_bytes.h"

#include "base/mapped_file.h"
#include "io/gzip.h"

namespace hone {

FileBytes file_bytes(const std::string& path) {
  auto file = std::make_shared<const MappedFile>(path);
  if (!is_gzip(file->bytes())) return {file, file->bytes(), true};
  auto unpacked = std::make_shared<const std::string>(unpack_gzip(file->bytes(), path));
  return {unpacked, std::as_bytes(std::span(*unpacked))};
}

}  // namespace hone
