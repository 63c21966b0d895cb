// Declares the outputs of --group-by: the table of the report, --csv, and --json with one object a line.
// group_command.cpp writes them.
#pragma once

#include "arguments/arguments.hpp"
#include "arguments/model_choice.hpp"
#include "report/output_file.hpp"
#include "table/data_selection.hpp"
#include "table/joined/input_files.hpp"

#include <nlsq/groups.hpp>
#include <nlsq/options.hpp>

#include <string>
#include <vector>

namespace nlsq::cli {

struct GroupReport {
  const Arguments& arguments;
  const FitData& data;
  const ModelChoice& model;
  const FitOptions& options;
  const GroupsResult& fits;
  std::vector<std::string> names;  // names of the groups
  std::vector<std::string> warnings = {};
  double read_seconds = 0, total_seconds = 0;
  std::vector<InputFile> files = {};  // for --json

  std::size_t failed() const { return fits.size() - fits.succeeded; }
  // Returns true if the fit held the parameter at its start.
  bool fixed(std::size_t parameter) const;
  // Returns true if all groups have the parameter in common.
  bool shared(std::size_t parameter) const;
  // Returns true if shared parameter `j` of the joint fit ended on a bound.
  bool shared_at_bound(std::size_t j) const;
  // Returns a name such as "tau". If some parameters are shared, one that each group has for itself is
  // "a[north]".
  std::string parameter_name(std::size_t group, std::size_t parameter) const;
  // Returns the heading of the groups: the column that --group-by names, or "y" if each column of y is a
  // group.
  std::string title() const;
};

std::string group_text(const GroupReport& report);
// Returns "2 of 40 groups did not succeed: north (...), south (...)", for stderr and the report.
std::string failed_groups(const GroupReport& report);
// Throws UsageError if a parameter has the name of another column of that table.
void check_names_in_csv(const std::vector<std::string>& parameters);
void write_group_csv(const GroupReport& report, OutputFile& file);
// Writes a line for each group, then one for all groups together.
void write_group_json(const GroupReport& report, OutputFile& file);

}  // namespace nlsq::cli
