// Implements run(): handles the actions of the command line and converts exceptions to exit status.
#include "run.hpp"

#include "arguments/arguments.hpp"
#include "errors.hpp"
#include "fit_command.hpp"
#include "interrupt.hpp"
#include "processes/processes.hpp"
#include "progress.hpp"
#include "report/json_report.hpp"
#include "report/model_list.hpp"
#include "report/output_file.hpp"
#include "table/scratch/scratch_memory.hpp"

#include <nlsq/json/fit.hpp>
#include <nlsq/version.hpp>

#include <fast_float/fast_float.h>
#include <fmt/format.h>
#include <zlib.h>

#include <unistd.h>
#include <CLI/Version.hpp>

#include <exception>
#include <new>
#include <string>
#include <string_view>

namespace nlsq::cli {

namespace {

// Writes to stderr without allocating, because memory may have run out. With several processes the messages
// are kept, and the first process writes them at the end.
void complain(std::string_view what) noexcept {
  if (processes() != nullptr) return processes()->hold_message(what);
  for (const std::string_view part : {std::string_view("nlsq-fit: "), what, std::string_view("\n")}) {
    if (::write(STDERR_FILENO, part.data(), part.size()) < 0) return;
  }
}

std::string version_text() {
  return fmt::format("nlsq-fit {}\n{}\nCLI11 {}, nlohmann-json {}, fmt {}.{}.{}, zlib {}\n", version(),
                     build_information(), CLI11_VERSION, json_library_version(), FMT_VERSION / 10000,
                     FMT_VERSION / 100 % 100, FMT_VERSION % 100, zlibVersion());
}

void list_models(const Arguments& arguments) {
  if (arguments.json.empty()) return write_stdout(model_table());
  OutputFile file(arguments.json);
  file.write(builtin_models_json());
  file.commit();
}

// Several processes divide the passes of one fit, or the fits of groups and of pixels. The first process does
// everything else alone.
bool is_divided(const Arguments& arguments) { return arguments.action == Action::fit; }

int dispatch(const Arguments& arguments) {
  if (!first_process() && !is_divided(arguments)) return kExitConverged;
  switch (arguments.action) {
    case Action::help: write_stdout(arguments.help_text); return 0;
    case Action::version: write_stdout(version_text()); return 0;
    case Action::list_models: list_models(arguments); return 0;
    case Action::describe_model: write_stdout(describe_model(arguments.described)); return 0;
    case Action::fit: break;
  }
  install_interrupt_handler();
  if (processes() != nullptr && arguments.time_limit)
    throw UsageError("--time-limit: the clocks of several processes differ; limit --max-iterations");
  if (processes() != nullptr && arguments.optimize)
    throw UsageError("--optimize measures times, which differ between processes; measure with nlsq-fit");
  choose_scratch(arguments.memory.value_or(memory_allowed() / 4 * 3), arguments.scratch);
  choose_progress(first_process() ? arguments.progress : ProgressChoice::off, arguments.quiet);
  return fit_command(arguments);
}

}  // namespace

int run(int argc, const char* const* argv) {
  try {
    return dispatch(parse_arguments(argc, argv));
  } catch (const UsageError& e) {
    complain(e.what());
    complain("nlsq-fit --help lists the options");
    return kExitUsage;
  } catch (const BadData& e) {
    complain(e.what());
    return kExitBadData;
  } catch (const OutputError& e) {
    complain(e.what());
    return kExitBadData;
  } catch (const Interrupted&) {
    complain("interrupted while reading; nothing was fitted");
    return kExitInterrupted;
  } catch (const std::bad_alloc&) {
    complain("out of memory; fit fewer rows (--where, --range) or free memory");
    return kExitBadData;
  } catch (const std::exception& e) {
    complain(e.what());
    return kExitUsage;
  }
}

}  // namespace nlsq::cli
