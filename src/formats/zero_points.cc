#include "formats/zero_points.h"

#include "formats/bits.h"
#include "formats/scale.h"

namespace hone {

std::vector<uint32_t> zero_points_of(const Format& format, const PlaneView& planes) {
  const int bytes = zero_point_bytes(format);
  if (bytes == 0) return {};
  std::vector<uint32_t> zeros(planes.zero_points.size() / static_cast<size_t>(bytes));
  read_codes(planes.zero_points.data(), 8 * bytes, 0, zeros);
  return zeros;
}

}  // namespace hone
