#include "cli/program.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <new>
#include <set>
#include <sstream>
#include <stdexcept>
#include <system_error>

#include "base/error.h"
#include "base/log.h"
#include "base/mapped_file.h"
#include "base/printable.h"
#include "base/registry.h"
#include "base/stop.h"
#include "base/text.h"
#include "cli/flags.h"
#include "cli/limits.h"

namespace hone {
namespace {

constexpr int kBadInput = 1, kUsage = 2, kBug = 70;

LimitFlags limits;
ProgramVerbs of_this_program{};
CLI::App* app_of_this_program = nullptr;  // while it runs

void add_verb(CLI::App& app, const VerbDef& verb, int& code) {
  CLI::App* command = app.add_subcommand(verb.name, verb.summary);
  if (!app.get_parent()) command->group(kVerbTasks[static_cast<size_t>(verb.task)]);
  const std::string notes = verb.notes ? verb.notes() + "\n" : "";
  if (*verb.examples) command->footer(notes + "Examples:\n" + verb.examples);
  limits.add_to(*command);
  if (!verb.actions.empty()) {
    command->require_subcommand(1);
    for (const VerbDef* action : verb.actions) add_verb(*command, *action, code);
    return;
  }
  verb.setup(*command);
  command->callback([command, &verb, &code] {
    limits.start(verb.inspects ? command->get_option("MODEL")->as<std::string>() : "");
    code = verb.run();
    require_whole_mappings();
  });
}

// CLI11 does not suggest names; an unknown first word is most often a misspelt verb.
std::string suggestion(std::span<const VerbDef* const> verbs, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return "";
  const auto names = names_of(verbs);
  if (find_def(verbs, argv[1])) return "";
  return fmt::format("hone: unknown command '{}'{}\n", printable_message(argv[1]), did_you_mean(argv[1], names));
}

// Messages repeat what was typed, and errors what files hold.
void tell(std::string_view text) { std::fprintf(stderr, "hone: %s\n", printable_message(text).c_str()); }

// How a run ends whose reader went away: of `hone … | head`, with the code that the shell gives without a word.
int code_of(int code, std::string_view text) {
  if (lost_its_reader()) return interrupted_code();
  tell(text);
  return code;
}

int usage(const CLI::App& app, const CLI::ParseError& error) {
  std::ostringstream out, err;
  const int code = app.exit(error, out, err);
  std::fputs(printable(out.str()).c_str(), stdout);
  std::fputs(printable_message(err.str()).c_str(), stderr);
  if (std::fflush(stdout) != 0) tell("standard output: writing failed");
  return code == 0 ? 0 : kUsage;
}

}  // namespace

ProgramVerbs this_programs_verbs() { return of_this_program; }

std::string help_text(std::span<const std::string> words) {
  CLI::App* app = app_of_this_program;
  std::string before = words.empty() ? of_this_program.name : "";
  std::span<const VerbDef* const> verbs = of_this_program.verbs;
  for (const std::string& word : words) {
    const VerbDef* verb = find_def(verbs, word);
    if (!verb) fail("no verb {}{}", word, did_you_mean(word, names_of(verbs)));
    before += (before.empty() ? "" : " ") + app->get_name();
    app = app->get_subcommand(word), verbs = verb->actions;
  }
  // CLI::App::help is that of the verb that was given: help itself.
  return app->get_formatter()->make_help(app, before + (words.empty() ? "" : " " + app->get_name()),
                                         CLI::AppFormatMode::Normal);
}

int run_program(const char* name, std::span<const VerbDef* const> verbs, int argc, char** argv) {
  CLI::App app{"hone: a trained model in; a smaller, faster model out, honestly measured.", name};
  app.require_subcommand(1);
  app.set_version_flag("--version", "hone " HONE_VERSION);
  app.failure_message(CLI::FailureMessage::simple);
  set_this_command(name, argc, argv);
  int code = 0;
  set_log_sink([said = std::set<std::string>()](LogLevel level, std::string_view text) mutable {
    if (limits.quiet && level != LogLevel::warning) return;
    if (!said.emplace(text).second) return;  // a model that is opened again has the same to say
    const std::string shown = printable_message(text);
    std::fprintf(stderr, "%s%s\n", level == LogLevel::warning ? "warning: " : "", shown.c_str());
  });
  of_this_program = {name, verbs}, app_of_this_program = &app;
  for (size_t task = 0; task < std::size(kVerbTasks); ++task)
    for (const VerbDef* verb : verbs)
      if (static_cast<size_t>(verb->task) == task) add_verb(app, *verb, code);
  try {
    app.parse(argc, argv);
    if (std::fflush(stdout) != 0) fail("standard output: writing failed");
    return code;
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() != 0) std::fputs(suggestion(verbs, argc, argv).c_str(), stderr);
    return usage(app, e);
  } catch (const Stopped& e) {
    return code_of(e.why() == Stop::timeout ? kBadInput : interrupted_code(), e.what());
  } catch (const Error& e) {
    return code_of(kBadInput, e.what());
  } catch (const std::filesystem::filesystem_error& e) {  // a path of the user's that the file system refuses
    tell(e.path1().string() + ": " + e.code().message());
    return kBadInput;
  } catch (const std::system_error& e) {  // a thread has no room for its stack
    tell(std::string(e.what()) + "; --max-memory SIZE sets the limit on memory");
    return kBadInput;
  } catch (const std::bad_alloc&) {
    tell("out of memory; --max-memory SIZE sets the limit");
    return kBadInput;
  } catch (const std::length_error&) {
    tell("out of memory: a list longer than memory holds");
    return kBadInput;
  } catch (const std::exception& e) {
    tell(std::string("this is a bug in hone, please report it with the command line:\n  ") + e.what());
    return kBug;
  }
}

}  // namespace hone
