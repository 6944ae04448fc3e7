#include "data/file_pieces.h"

#include "base/mapped_file.h"

namespace hone {
namespace {

constexpr size_t kAround = size_t{64} << 10;  // that the system maps beside what is touched
constexpr size_t kMost = size_t{64} << 20;

}  // namespace

std::byte FilePieces::at(size_t place) const {
  note(1);
  return file_.bytes[place];
}

Buffer FilePieces::piece(size_t begin, size_t bytes) const {
  const std::span<const std::byte> view = file_.bytes.subspan(begin, bytes);
  if (!file_.is_mapped) return {file_.owner, view};
  note(bytes);
  return Buffer::copy_of(view);
}

void FilePieces::note(size_t bytes) const {
  if (!file_.is_mapped || touched_->fetch_add(bytes + kAround) < kMost) return;
  touched_->store(0);
  drop_pages(file_.bytes);
}

}  // namespace hone
