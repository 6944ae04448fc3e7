#include "device/x86/square.h"

namespace hone {

Values transpose_square(X86Emitter& e, Values rows) {
  for (int step = e.lanes / 2; step > 0; step /= 2) {
    std::vector<int> low, high;
    for (int i = 0; i < e.lanes; ++i) {
      low.push_back(i & step ? e.lanes + i - step : i);
      high.push_back(i & step ? e.lanes + i : i + step);
    }
    for (int r = 0; r < e.lanes; ++r) {
      if (r & step) continue;
      llvm::Value *&x = rows[static_cast<size_t>(r)], *&y = rows[static_cast<size_t>(r + step)];
      llvm::Value* upper = e.b.CreateShuffleVector(x, y, low);
      y = e.b.CreateShuffleVector(x, y, high);
      x = upper;
    }
  }
  return rows;
}

}  // namespace hone
