// Implements the file of --residuals.
#include "report/residual_file.hpp"

#include "report/components.hpp"
#include "report/output_file.hpp"
#include "table/block_evaluator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

namespace nlsq::cli {

namespace {

constexpr std::size_t kBlock = 1024;             // rows whose columns are copied at a time
constexpr std::size_t kRowsOfPiece = 64 * 1024;  // rows that one thread formats at a time

using Values = std::array<double, kBlock>;

// Holds the values that are written: predictors, response, fit, sigma, and the terms of a sum of models.
struct Written {
  const FitData* data;
  std::vector<double> response, fitted;
  std::vector<Component> components;
};

void append(fmt::memory_buffer& out, double value) { fmt::format_to(std::back_inserter(out), "{}", value); }

// Formats rows [first, last).
void format_rows(const Written& written, std::size_t first, std::size_t last, fmt::memory_buffer& out) {
  const FitData& data = *written.data;
  std::vector<Values> columns(data.predictors.size());
  Values sigma;
  out.clear();
  for (std::size_t begin = first; begin < last; begin += kBlock) {
    const std::size_t count = std::min(kBlock, last - begin);
    for (std::size_t k = 0; k < columns.size(); ++k) data.predictors[k].read(begin, count, columns[k].data());
    if (!data.sigma.empty()) data.sigma.read(begin, count, sigma.data());
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t k = 0; k < columns.size(); ++k) {
        if (const auto date = date_text(data.time_of_x(k), columns[k][i])) out.append(*date);
        else append(out, columns[k][i]);
        out.push_back(',');
      }
      const double y = written.response[begin + i], fit = written.fitted[begin + i];
      append(out, y);
      out.push_back(',');
      append(out, fit);
      out.push_back(',');
      append(out, y - fit);
      if (!data.sigma.empty()) {
        out.push_back(',');
        append(out, sigma[i]);
      }
      for (const Component& component : written.components) {
        out.push_back(',');
        append(out, component.values[begin + i]);
      }
      out.push_back('\n');
    }
  }
}

std::size_t thread_count(int wanted, std::size_t rows) {
  const std::size_t all = std::max(1u, std::thread::hardware_concurrency());
  const std::size_t most = wanted > 0 ? std::min(all, static_cast<std::size_t>(wanted)) : all;
  return std::clamp<std::size_t>(rows / kRowsOfPiece, 1, most);
}

Written evaluate(const FitReport& report) {
  const FitData& data = report.data;
  Written written{&data, std::vector<double>(data.rows()), std::vector<double>(data.rows()),
                  components_at(report, data.predictors)};
  std::vector<Column> columns = data.predictors;
  evaluate_rows(report.model.formula, columns, report.fit.parameters, written.fitted);
  columns.push_back(data.y);
  evaluate_response_rows(report.model.formula, columns, written.response);
  return written;
}

}  // namespace

void write_residuals(const FitReport& report) {
  const FitData& data = report.data;
  const Written written = evaluate(report);
  OutputFile file(report.arguments.residuals);
  std::vector<std::string> others{"y", "fit", "residual", "sigma"};
  for (const Component& component : written.components) others.push_back(component.label);
  for (const std::string& name : headers_of(report.model.formula.predictors, others)) file.write(name + ",");
  file.write(data.sigma.empty() ? "y,fit,residual" : "y,fit,residual,sigma");
  for (const Component& component : written.components) file.write("," + component.label);
  file.write("\n");
  std::vector<fmt::memory_buffer> pieces(thread_count(report.arguments.threads, data.rows()));
  for (std::size_t first = 0; first < data.rows();) {
    {
      std::vector<std::jthread> threads;
      for (fmt::memory_buffer& piece : pieces) {
        const std::size_t begin = std::min(first, data.rows()),
                          end = std::min(begin + kRowsOfPiece, data.rows());
        const auto format = [&written, begin, end, &piece] { format_rows(written, begin, end, piece); };
        if (pieces.size() == 1) format();
        else threads.emplace_back(format);
        first = end;
      }
    }
    for (const fmt::memory_buffer& piece : pieces) file.write({piece.data(), piece.size()});
  }
  file.commit();
}

}  // namespace nlsq::cli
