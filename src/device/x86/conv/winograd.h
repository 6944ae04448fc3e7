// Winograd's minimal filtering for 3x3 windows of stride 1: an m x m piece of the result comes from (m+2) x (m+2)
// products instead of 9 m², after linear transforms of x and before one of the result.
//
//   Y = Aᵀ [ (G g Gᵀ) ⊙ (Bᵀ d B) ] A        d: (m+2)² elements of x, g: the 3x3 weights, Y: m² results
//
// A. Lavin, S. Gray, "Fast Algorithms for Convolutional Neural Networks" (2015). The products are sums over channels,
// so they are (m+2)² matrix products. Its rounding errors are larger than those of the sum of products:
// winograd_growth() bounds by how much. With bf16 operands the transformed x and weights are rounded to bf16 again: for
// pieces of 2x2 the root mean square of the error is twice that of the plain sum of bf16 products.
#pragma once

#include <cstdint>
#include <vector>

namespace hone {

using Matrix = std::vector<std::vector<double>>;  // rows

struct Winograd {
  int64_t piece = 0;  // m
  Matrix result;      // Aᵀ, m x (m+2)
  Matrix weights;     // G, (m+2) x 3
  Matrix data;        // Bᵀ, (m+2) x (m+2)
  int64_t side() const { return piece + 2; }
  int64_t products() const { return side() * side(); }
};

const Winograd& winograd(int64_t piece);  // 2 or 4

// The largest factor by which the magnitudes that are summed can exceed those of the plain sum of products, over
// elements and weights of one magnitude: errors grow by about as much.
double winograd_growth(const Winograd& w);

}  // namespace hone
