#include "device/x86/conv/winograd_weights.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/float_bits.h"
#include "ir/lying_bytes.h"

namespace hone {
namespace {

constexpr int64_t kColumns = 8;  // divides every panel
using Columns = std::array<double, kColumns>;

struct Room {
  int64_t product_bytes, row_bytes;  // between panels of products, and rows of channels in them
};

double value(float stored) { return stored; }
double value(uint16_t stored) { return bf16_to_f32(stored); }

template <class T>
double value_at(const std::byte* weights, int64_t element) {  // on any byte
  T stored;
  std::memcpy(&stored, weights + element * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value(stored);
}

// One channel of up to kColumns outputs. Loops over columns have a constant length, so that they become vectors.
template <class T>
__attribute__((target("avx2,fma"))) void transform_channel(const Matrix& factors, const WeightSteps& at,
                                                           const std::byte* weights, int64_t first, int64_t count,
                                                           int64_t c, const Room& room, std::byte* out) {
  constexpr bool pairs = sizeof(T) == 2;  // two channels in a lane
  Columns g[9] = {};
  for (int64_t o = 0; o < count; ++o)
    for (int64_t tap = 0; tap < 9; ++tap)
      g[tap][static_cast<size_t>(o)] = value_at<T>(weights, first + o * at.output + tap * at.tap);
  out += (pairs ? c / 2 : c) * room.row_bytes + (pairs ? c % 2 * 2 : 0);
  for (const std::vector<double>& f : factors) {
    Columns half[3];  // a row of G g
    for (size_t x = 0; x < 3; ++x)
      for (size_t o = 0; o < kColumns; ++o) half[x][o] = g[x][o] * f[0] + g[3 + x][o] * f[1] + g[6 + x][o] * f[2];
    for (const std::vector<double>& h : factors) {
      float sums[kColumns];
      for (size_t o = 0; o < kColumns; ++o)
        sums[o] = static_cast<float>(half[0][o] * h[0] + half[1][o] * h[1] + half[2][o] * h[2]);
      auto* to = reinterpret_cast<T*>(out);
      for (size_t o = 0; o < kColumns; ++o)
        if constexpr (pairs) to[2 * o] = f32_to_bf16(sums[o]);
        else to[o] = sums[o];
      out += room.product_bytes;
    }
  }
}

template <class T>
void transform_panel(const Winograd& w, const PanelLayout& layout, const Tensor& weights, const WeightSteps& at,
                     int64_t panel, std::byte* out) {
  const Room room{.product_bytes = layout.panel_bytes(), .row_bytes = layout.row_bytes()};
  const std::byte* const from = lying_bytes(weights.data()).data();
  const int64_t first = panel * layout.panel_columns(), end = std::min(layout.n, first + layout.panel_columns());
  for (int64_t c = 0; c < layout.k; ++c)  // panels are written from start to end
    for (int64_t o = first; o < end; o += kColumns)
      transform_channel<T>(w.weights, at, from, at.first + o * at.output + at.of_channel(c),
                           std::min(kColumns, end - o), c, room, out + (o - first) * 4);
}

}  // namespace

void transform_weights(const Winograd& w, const PanelLayout& layout, const Tensor& weights, const WeightSteps& steps,
                       int64_t panel, std::byte* out) {
  const auto transform = weights.dtype() == DType::bf16 ? transform_panel<uint16_t> : transform_panel<float>;
  transform(w, layout, weights, steps, panel, out);
}

}  // namespace hone
