// What MPNet and T5 add to attention's scores: a learned number a head for each bucket of distances between query and
// key, the same in every layer.
#pragma once

#include "models/transformer.h"

namespace hone {

// For distances key - query of -farthest … farthest the bucket of `buckets`: half of them are for keys behind the
// query; of those, the first half for one distance each, the others for more the further they are, up to `farthest`, in
// f32 arithmetic as models were trained with. Raffel et al., "Exploring the Limits of Transfer Learning" (2019).
std::vector<int64_t> distance_buckets(int64_t buckets, int64_t farthest);

// Throws Error unless there are an even number of at least 4 buckets, and distances that have no bucket of their own.
void require_buckets(const std::string& source, int64_t buckets, int64_t farthest);

// f32[1,heads,S,S] by the table NAME.weight[buckets,heads]; S is the length of ids[B,S].
ValueId distance_bias(TransformerBuilder& builder, ValueId ids, const std::string& name, int64_t buckets,
                      int64_t farthest, int64_t heads);

}  // namespace hone
