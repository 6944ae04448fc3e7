// Bytes of a tensor that are looked at once: pages of a mapped file go back to the system piece by piece, so that a
// whole model is never in memory.
#pragma once

#include <algorithm>
#include <span>

#include "base/mapped_file.h"
#include "ir/tensor.h"

namespace hone {

template <class Use>
void for_each_piece(const Tensor& tensor, const Use& use) {
  constexpr size_t kPiece = size_t{1} << 22;
  const std::span<const std::byte> bytes = tensor.data().bytes();
  for (size_t at = 0; at < bytes.size(); at += kPiece) {
    const std::span<const std::byte> piece = bytes.subspan(at, std::min(kPiece, bytes.size() - at));
    use(piece);
    if (tensor.data().is_mapped()) drop_pages(piece);
  }
}

}  // namespace hone
