#include <hone/search.h>

#include "api/given_options.h"
#include "api/guarded.h"
#include "api/models.h"
#include "api/studies.h"
#include "nas/search_options.h"
#include "study/study.h"

namespace hone::api {

SearchResult search(const SearchOptions& options, const Task& task) {
  return guarded([&] {
    const GivenOptions texts = given(options);
    auto flags = options_of<SearchFlags>(texts);
    flags.given = {texts.begin(), texts.end()};
    const hone::SearchResult found = search_model(flags.typed(), context_of(task));
    SearchResult result{.model = found.model, .data = found.data_title, .studies = {}};
    for (const SearchedStudy& searched : found.studies) {
      const std::vector<Direction> directions = searched.directions();
      Study& study = result.studies.emplace_back(described(searched.name, directions, searched.trials.get(),
                                                           hone::pareto_front(*searched.trials, directions)));
      for (const Objective& objective : searched.objectives) study.objectives.push_back(objective.text);
      study.notes = searched.notes;
    }
    return result;
  });
}

}  // namespace hone::api
