// GPTQ: rounding column by column, where each column takes up what the errors of the columns before it leave to make up
// for (Frantar et al., "GPTQ: Accurate Post-Training Quantization for Generative Pre-trained Transformers", 2023).
//
// With H = M Mᵀ, M upper triangular, and e the errors of a row of weights,
//   e H eᵀ = sum over j of (M_jj * (e_j + sum over i < j of e_i M_ij / M_jj))²,
// so that column j is rounded where it cancels that sum: no inverse of H is needed (Chee et al., "QuIP", 2023, show
// that this is GPTQ). Any format will do, whatever shares its scales: they are chosen before the first column is
// rounded.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "formats/scale_search.h"
#include "ir/statistics.h"

namespace hone {

struct GptqOptions {
  double damping = 0.01;         // of the mean of H's diagonal, added to it; tenfold until H is positive definite
  bool activation_order = true;  // columns with large inputs first, while there is much left to make up for them
};

// What the elements of a matrix of these rows are multiplied with.
ElementInputs element_inputs(const LayerStatistics& statistics, int64_t rows);

// A matrix [rows, width] with finite values, packed; the scales are those of pack_searched() for these inputs. The
// statistics have second moments of its width; rows / groups rows belong to each group. Without correlations, the codes
// are the nearest ones.
Planes pack_gptq(const Format& format, std::span<const int64_t> shape, std::span<const float> values,
                 const LayerStatistics& statistics, const GptqOptions& options);

}  // namespace hone
