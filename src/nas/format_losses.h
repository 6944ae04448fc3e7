// What the formats of a space cost and lose, one weight at a time: what the samplers ilp and ilp-tpe solve for.
#pragma once

#include <functional>

#include "nas/search_config.h"
#include "study/sampler.h"
#include "study/space.h"

namespace hone {

// Of the parameters "format.NAME", by sensitivities as hone allocate measures them, on at most 512 rows of what
// candidates are judged by. Costs are bytes as stored, or of the file where the study has a limit of those;
// `figures_of`: what a candidate's file has, by the point of the space. Throws Error where the candidates are not one
// model in formats.
using FiguresOf = std::function<Figures(const Json& values)>;
ChoiceTable format_losses(const SearchStudy& study, const Space& space, const FiguresOf& figures_of,
                          const Progress& progress);

}  // namespace hone
