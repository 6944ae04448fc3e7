#include "data/data_options.h"

namespace hone {
namespace {

constexpr OptionField<DataOptions> kFields[] = {
    {"format", "the reader, where the path does not tell", &DataOptions::format},
    {"text", "column of the text, or of the first of two", &DataOptions::text},
    {"text2", "column of the second text", &DataOptions::text2},
    {"label", "column of the class", &DataOptions::label},
    {"labels", "column of any number of classes", &DataOptions::labels},
    {"target", "column of the number to predict", &DataOptions::target},
    {"tokens", "column of words, each of which has a class", &DataOptions::tokens},
    {"tags", "column of the classes of words", &DataOptions::tags},
    {"group-column", "column of what must not be in two splits, such as an author", &DataOptions::group},
    {"split-column", "column that says train, validation or test", &DataOptions::split},
    {"separator", "what stands between the classes or words of one cell", &DataOptions::separator},
    {"no-header", "the first line is a row; columns are called 1, 2, ...", &DataOptions::no_header},
    {"classes", "the classes in order, where those that occur are not all or not in that order", &DataOptions::classes},
    {"channels", "channels of decoded images: 1 gray, 3 color", &DataOptions::channels},
    {.name = "validation-file",
     .doc = "file or folder with the rows for validation",
     .member = &DataOptions::validation_file,
     .traits = {.file = OptionFile::reads}},
    {.name = "test-file",
     .doc = "file or folder with the rows for the test",
     .member = &DataOptions::test_file,
     .traits = {.file = OptionFile::reads}},
    {"validation-fraction", "share of the rows to validate on, from 0 to 1", &DataOptions::validation_fraction},
    {"test-fraction", "share of the rows to test on, from 0 to 1", &DataOptions::test_fraction},
    {"split-seed", "random seed that decides which rows those are", &DataOptions::split_seed},
};

}  // namespace

std::span<const OptionField<DataOptions>> DataOptions::fields() { return kFields; }

}  // namespace hone
