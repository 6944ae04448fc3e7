// What a tile register holds.
#pragma once

namespace hone {

constexpr int kTileRows = 16, kTileColumns = 16;
constexpr int kTileStepBytes = 64;  // of a row of A that one step takes
constexpr int kTileK = 32;          // of bf16 in it

// Rows that are multiplied at a time: two tiles of them.
constexpr int kTileStripRows = 2 * kTileRows;

}  // namespace hone
