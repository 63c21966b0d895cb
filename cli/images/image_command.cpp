// Implements --maps: reads the image, fits its pixels, and writes the maps.
#include "images/image_command.hpp"

#include "errors.hpp"
#include "fit_command.hpp"
#include "groups/group_command.hpp"
#include "images/image_fit.hpp"
#include "images/image_report.hpp"
#include "images/npz_file.hpp"
#include "interrupt.hpp"
#include "processes/processes.hpp"
#include "report/checkpoint.hpp"
#include "report/output_check.hpp"
#include "report/output_file.hpp"
#include "stopwatch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace nlsq::cli {

namespace {

ImageFits fit_checked(const Image& image, const ModelChoice& model, const NamedValues& p0,
                      const GroupOptions& options) {
  try {
    return fit_image(image, model, p0, options);
  } catch (const DataError& e) {
    throw BadData(fmt::format("{}: {}", image.source, e.what()));
  } catch (const JournalError& e) {
    throw OutputError(e.what());
  } catch (const Error& e) {
    throw UsageError(e.what());
  }
}

void check_map_names(const std::vector<std::string>& parameters) {
  for (const std::string& name : parameters) {
    const auto is_of_another = [&](std::string_view ending) {
      return name.ends_with(ending) &&
             std::ranges::find(parameters, name.substr(0, name.size() - ending.size())) != parameters.end();
    };
    if (name == "cost" || name == "status" || is_of_another("_std_error") || is_of_another("_at_bound"))
      throw UsageError(
          fmt::format("--model: {} is the name of another map; name the parameter otherwise", name));
  }
}

void write_maps(const ImageFits& fits, const Image& image, const std::string& path) {
  NpzFile file(path);
  std::vector<double> map(image.pixels());
  const auto add = [&](const std::string& name, const Matrix& values, std::size_t j) {
    for (std::size_t p = 0; p < map.size(); ++p) map[p] = values(p, j);
    file.add(name, image.shape, std::span<const double>(map));
  };
  for (std::size_t j = 0; j < fits.parameter_names.size(); ++j) {
    add(fits.parameter_names[j], fits.parameters, j);
    add(fits.parameter_names[j] + "_std_error", fits.standard_errors, j);
    if (const auto bounded = fits.at_bound.find(fits.parameter_names[j]); bounded != fits.at_bound.end())
      file.add(bounded->first + "_at_bound", image.shape, std::span<const std::uint8_t>(bounded->second));
  }
  file.add("cost", image.shape, std::span<const double>(fits.cost));
  file.add("status", image.shape, std::span<const std::uint8_t>(fits.status));
  file.commit();
}

void write_json(ImageReport& report) {
  for (const auto& [name, checksum] : report.image.files)
    report.files.push_back({name, 0, checksum->finish()});
  OutputFile file(report.arguments.json);
  file.write(image_json(report));
  file.commit();
}

}  // namespace

void check_image_arguments(const Arguments& arguments) {
  const Selection& selection = arguments.selection;
  if (arguments.image.maps.empty()) {
    if (!arguments.image.mask.empty() || arguments.image.axis)
      throw UsageError(
          "--mask and --axis are of an image: they need --maps FILE.npz, where its maps are written");
    return;
  }
  if (arguments.image.maps == "-") throw UsageError("--maps -: name a file, as in --maps maps.npz");
  if (arguments.files.size() > 1) {
    throw UsageError(fmt::format("--maps fits one image, and {} files are given: name the one with the image",
                                 arguments.files.size()));
  }
  const std::pair<const char*, bool> of_tables[] = {
      {"--y", !selection.y.empty()},
      {"--sigma-x", !selection.sigma_x.empty()},
      {"--where", !selection.where.empty()},
      {"--range", !selection.range.empty()},
      {"--group-by", !selection.group_by.empty()},
      {"--missing drop", arguments.csv.missing == MissingPolicy::drop},
      {"--csv", !arguments.prediction.csv.empty()}};
  for (const auto& [option, given] : of_tables) {
    if (given)
      throw UsageError(fmt::format("{} is of tables, and --maps fits the pixels of an image", option));
  }
  if (arguments.memory || !arguments.scratch.empty()) {
    throw UsageError(
        fmt::format("{} is of the columns of a table, and --maps has none: it reads the image from its file "
                    "in pieces, and "
                    "its maps are in memory; leave it out",
                    arguments.memory ? "--memory" : "--scratch"));
  }
  if (arguments.confidence_given)
    throw UsageError("--confidence is of intervals, and maps have none: they have standard errors");
  const bool reads_text = !selection.x.empty() && !grid_of(selection.x, "--x");
  if (const std::string of_text = option_of_text(arguments.csv); !of_text.empty() && !reads_text) {
    throw UsageError(
        fmt::format("{} is of texts, and --maps fits an array; it would hold for a table in --x", of_text));
  }
  const std::string of_one = option_of_one_fit(arguments);
  if (!of_one.empty()) {
    throw UsageError(fmt::format(
        "{} is of one fit, and --maps fits many: save the points of one pixel as a table", of_one));
  }
}

int image_command(const Arguments& arguments) {
  const Stopwatch clock;
  const NamedValues p0 = starting_values(arguments);
  std::vector<std::string> inputs = inputs_of(arguments);
  for (const std::string& input : {arguments.selection.x, arguments.selection.sigma, arguments.image.mask})
    if (!input.empty()) inputs.push_back(input);
  check_outputs(
      inputs,
      {{"--maps", arguments.image.maps}, {"--json", arguments.json}, {"--checkpoint", arguments.checkpoint}});
  const Image image = read_image(arguments);
  const double read_seconds = clock.seconds();
  FitData data = fit_data_of(image);
  if (processes() != nullptr) data.team = told_of_interrupts(processes()->team());
  data.journal = open_checkpoint(arguments);
  const ModelChoice model = choose_model(arguments.model, data, names_given(arguments, p0));
  check_names(p0, arguments, model.formula);
  check_map_names(model.formula.parameters);
  GroupOptions options = fit_options(arguments, data, model.formula.parameters);
  options.callback = {};
  if (!arguments.max_iterations) options.max_iterations = kPixelIterations;
  // A signal can end the process at once, because an image has no best result so far.
  const EndsAtOnce from_here;
  const ImageFits fits = fit_checked(image, model, p0, options);
  if (first_process()) write_maps(fits, image, arguments.image.maps);
  ImageReport report{arguments, image, model, fits, read_seconds, clock.seconds()};
  if (first_process()) {
    if (!arguments.quiet && arguments.json != "-") write_stdout(image_text(report));
    if (!arguments.json.empty()) write_json(report);
  }
  return report.failed() == 0 ? kExitConverged : kExitEnded;
}

}  // namespace nlsq::cli
