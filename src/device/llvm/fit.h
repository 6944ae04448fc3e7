// Polynomials that follow a smooth function, computed when code is generated, so that no coefficient is a number out of
// nowhere.
//
// Interpolation in the Chebyshev nodes of the interval: its largest error is within a small factor of the best
// polynomial's (Trefethen, "Approximation Theory and Approximation Practice", theorem 16.1), and needs no iteration.
#pragma once

#include <functional>
#include <vector>

namespace hone {

using RealFunction = std::function<long double(long double)>;

// Coefficients c[0..degree] of f(x) = sum c[k] (x - center)^k over [lo, hi].
std::vector<double> fit_polynomial(const RealFunction& f, double lo, double hi, double center, int degree);

// g over [0, pieces - 1] in pieces of width 1 around 0, 1, …; result [k][i]: coefficient of (u - i)^k in piece i. The
// last piece ends at its center.
std::vector<std::vector<float>> fit_pieces(const RealFunction& g, int pieces, int degree);

}  // namespace hone
