// What hone search shows of studies, and the commands by which their candidates are made again.
#include "views/search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nas/candidate_results.h"

namespace hone {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

TrialPtr trial(int64_t number, double value, const Figures& figures) {
  TrialRecord record;
  record.number = number;
  record.state = TrialState::complete;
  record.values = {value};
  record.user_attributes = {{kFiguresKey, figures_json(figures)}, {kCandidateKey, std::to_string(number)}};
  return std::make_shared<const TrialRecord>(std::move(record));
}

SearchedStudy study(const std::string& name) {
  const TrialList trials{trial(0, 3, {{"bits", 3}, {"predicted_latency", 2}, {"latency", 1}}),
                         trial(1, 2, {{"bits", 2}, {"predicted_latency", 3}, {"latency", 3}})};
  return {.name = name,
          .group = name,
          .objectives = {parse_objective("bits")},
          .figures = {"bits"},
          .trials = std::make_shared<const TrialList>(trials),
          .notes = {name + ": a note"}};
}

TEST(SearchView, SaysWhatEachStudyChoseAndHowItIsMadeAgain) {
  const SearchResult result{.model = "mlp", .studies = {study("a"), study("b")}, .storage = "study.db"};
  const Record record = view_of(result, "hone search mlp --trials 2 --storage study.db -o out");
  EXPECT_EQ(record.title, "Search for mlp");
  EXPECT_THAT(record.findings,
              AllOf(Contains("a: chosen by bits: trial 1 with 2; 2 trials complete"), Contains("b: a note"),
                    Contains(AllOf(HasSubstr("a: predicted_latency of 2 candidates"), HasSubstr("100.0 % at most")))));
  for (const char* key : {"studies", "best_a", "best_b", "predicted_latency_a"})
    EXPECT_NE(find_block<Table>(record, key), nullptr) << key;
  ASSERT_EQ(record.next.size(), 2u);
  EXPECT_THAT(record.next[1].command, AllOf(HasSubstr("--study b --rebuild 1 -o trial-1.safetensors"),
                                            Not(HasSubstr("--trials")), Not(HasSubstr("-o out"))));
}

TEST(SearchView, OfAStudyInMemoryNothingIsMadeAgain) {
  const Record record = view_of({.model = "mlp", .studies = {study("a")}, .storage = "memory"}, "hone search mlp");
  EXPECT_TRUE(record.next.empty());
  EXPECT_NE(find_block<Table>(record, "best"), nullptr);
}

}  // namespace
}  // namespace hone
