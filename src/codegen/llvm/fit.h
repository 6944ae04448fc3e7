// Polynomials that follow a smooth function, computed when code is generated, so that no coefficient is a number out of
// nowhere.
//
// Interpolation in the Chebyshev nodes of the interval: its largest error is within a small factor of the best
// polynomial's (Trefethen, "Approximation Theory and Approximation Practice", theorem 16.1), and needs no iteration.
#pragma once

#include <cstdint>
#include <vector>

namespace hone {

using RealFunction = long double (*)(long double);

// Coefficients c[0..degree] of f(x) = sum c[k] (x - center)^k over [lo, hi].
std::vector<double> fit_polynomial(RealFunction f, double lo, double hi, double center, int degree);

// f over [0, limit] in `intervals` pieces whose centers lie `step` apart from 0 on; the last piece reaches to `limit`.
// Result [k][i]: coefficient of (x - i*step)^k in piece i.
std::vector<std::vector<float>> fit_pieces(RealFunction f, double step, int intervals, double limit, int degree);

}  // namespace hone
