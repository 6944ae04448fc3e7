// Roots, exponentials and trigonometry of float elements.
#include "ops/pointwise_args.h"

namespace hone {

extern constinit const OpDef sqrt_def{.name = "sqrt",
                                      .doc = "The square root, correctly rounded.",
                                      .pointwise = [](Args a) { return sqrt(real_operand(a, 0)); }};
extern constinit const OpDef rsqrt_def{
    .name = "rsqrt", .doc = "1 / sqrt(x)", .pointwise = [](Args a) { return 1 / sqrt(real_operand(a, 0)); }};
extern constinit const OpDef exp_def{
    .name = "exp", .doc = "e to the power x", .pointwise = [](Args a) { return exp(real_operand(a, 0)); }};
extern constinit const OpDef log_def{
    .name = "log", .doc = "The natural logarithm.", .pointwise = [](Args a) { return log(real_operand(a, 0)); }};
extern constinit const OpDef tanh_def{
    .name = "tanh", .doc = "The hyperbolic tangent.", .pointwise = [](Args a) { return tanh(real_operand(a, 0)); }};
extern constinit const OpDef erf_def{
    .name = "erf", .doc = "The Gauss error function.", .pointwise = [](Args a) { return erf(real_operand(a, 0)); }};
extern constinit const OpDef sin_def{
    .name = "sin", .doc = "The sine of x in radians.", .pointwise = [](Args a) { return sin(real_operand(a, 0)); }};
extern constinit const OpDef cos_def{
    .name = "cos", .doc = "The cosine of x in radians.", .pointwise = [](Args a) { return cos(real_operand(a, 0)); }};

}  // namespace hone
