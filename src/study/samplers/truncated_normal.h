// Normal distributions cut to an interval, in logarithms, so that what lies far out in a tail keeps its digits.
#pragma once

namespace hone {

double normal_log_cdf(double x);             // log Phi(x)
double normal_quantile(double p);            // the x of Phi(x) = p; infinite at 0 and 1
double normal_log_mass(double a, double b);  // log(Phi(b) - Phi(a)), a <= b
double normal_mass(double a, double b);      // Phi(b) - Phi(a) for a <= 0 <= b, where it is no small difference
// The value of the normal distribution between a and b (in standard deviations) at quantile u in [0, 1) of what is
// there.
double truncated_normal(double u, double a, double b);

}  // namespace hone
