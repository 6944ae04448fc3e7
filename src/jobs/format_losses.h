// What the formats of a space cost and lose, one weight at a time: what the samplers ilp and ilp-tpe solve for.
#pragma once

#include "jobs/search_config.h"
#include "search/sampler.h"
#include "search/space.h"

namespace hone {

// Of the parameters "format.NAME", by sensitivities as hone allocate measures them, on at most 512 rows of what
// candidates are judged by. `overhead`: bytes of a candidate's file beyond its constants. Throws Error where the
// candidates are not one model in formats.
ChoiceTable format_losses(const SearchStudy& study, const Space& space, double overhead, const Progress& progress);

}  // namespace hone
