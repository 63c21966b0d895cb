// Implements batches that processes share and journals store, and the bytes of fits of groups.
#include "batch/batch.hpp"

#include "fit/kept_data.hpp"
#include "support/bytes.hpp"
#include "support/constants.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

namespace nlsq::inline v0 {

namespace {

constexpr std::size_t kFitsOfRecord = 8192;  // fits between two records of a journal
// The number of the format that to_bytes() writes. A record of another format is dropped, and its fits are
// made again. Format 1 had no messages, format 2 no warnings.
constexpr std::uint64_t kFormat = 3;

std::uint64_t hash_of_data(const Batch& batch) {
  ByteHash hash;
  for (std::size_t c = 0; c < batch.columns(); ++c) {
    const ColumnPerFit& column = batch.column(c);
    for (std::size_t f = 0; f < column.size(); ++f) add_numbers(column[f], hash);
  }
  return hash.value();
}

// Identifies the starts of the fits [first, last).
std::uint64_t request_of(const Batch& batch, std::size_t first, std::size_t last) {
  ByteHash hash;
  hash.add_value(kFormat);
  hash.add_value(first);
  hash.add_value(last);
  for (std::size_t f = first; f < last; ++f) {
    for (std::size_t j = 0; j < batch.start.columns(); ++j) hash.add_value(batch.start_of(f)[j]);
    for (const std::string& name : batch.unstarted(f)) hash.add(name);
  }
  return hash.value();
}

}  // namespace

BatchResult unfitted(std::size_t fits, const std::vector<std::string>& parameter_names, double value) {
  BatchResult out;
  out.parameter_names = parameter_names;
  out.parameters = Matrix(fits, parameter_names.size(), value);
  out.standard_errors = Matrix(fits, parameter_names.size(), value);
  out.cost.assign(fits, kNaN);
  out.decrement_sigma.assign(fits, kNaN);
  out.verdict.assign(fits, Verdict::failed);
  out.termination.assign(fits, Termination::failure);
  out.iterations.assign(fits, 0);
  return out;
}

// Visits all members of the result of fit f.
static void visit_fit(auto& fits, std::size_t f, auto&& visit) {
  for (std::size_t j = 0; j < fits.parameter_names.size(); ++j) {
    visit(fits.parameters(f, j));
    visit(fits.standard_errors(f, j));
  }
  visit(fits.cost[f]);
  visit(fits.decrement_sigma[f]);
  visit(fits.verdict[f]);
  visit(fits.termination[f]);
  visit(fits.iterations[f]);
}

std::string to_bytes(const BatchResult& fits, std::size_t first, std::size_t last) {
  ByteWriter out;
  for (std::size_t f = first; f < last; ++f) {
    visit_fit(fits, f, [&](const auto& value) { out.put(value); });
    const auto& texts = is_success(fits.verdict[f]) ? fits.warnings : fits.message;
    const auto text = texts.find(f);
    out.put_text(text == texts.end() ? std::string_view() : text->second);
  }
  return std::move(out.text());
}

void take_bytes(std::string_view bytes, std::size_t first, BatchResult& fits) {
  ByteReader in(bytes);
  for (std::size_t f = first; in.left() > 0; ++f) {
    visit_fit(fits, f, [&](auto& value) { value = in.get<std::remove_reference_t<decltype(value)>>(); });
    auto& texts = is_success(fits.verdict[f]) ? fits.warnings : fits.message;
    if (std::string text = in.get_text(); !text.empty()) texts[f] = std::move(text);
  }
}

void share_fits(SharedWork& work, const Batch& batch, const SolverOptions& options, const FitRange& fit_range,
                BatchResult& out) {
  if (options.journal) check_kept_hash(hash_of_data(batch), options);
  out.in_lanes = 0;
  work.in_blocks(batch.fits(), kFitsOfRecord, 1, [&](std::size_t first, std::size_t last) {
    const SharedWork::Results results =
        work.run(request_of(batch, first, last), last - first, 1, [&](std::size_t begin, std::size_t end) {
          const std::size_t in_lanes = fit_range(first + begin, first + end);
          return SharedWork::Results{in_lanes, to_bytes(out, first + begin, first + end)};
        });
    take_bytes(results.bytes, first, out);
    out.in_lanes += results.number;
  });
}

std::string group_bytes(const GroupsResult& fits, std::span<const std::size_t> groups) {
  ByteWriter out;
  const std::size_t n = fits.parameter_names.size();
  for (const std::size_t k : groups) {
    for (const Matrix* values : {&fits.parameters, &fits.standard_errors})
      out.put_all(std::span(values->data() + k * n, n));
    out.put_all(std::span(fits.at_bound).subspan(k * n, n));
    for (const auto* values : {&fits.cost, &fits.rss, &fits.r_squared, &fits.decrement_sigma})
      out.put((*values)[k]);
    out.put(fits.dof[k]);
    out.put(fits.verdict[k]);
    out.put(fits.termination[k]);
    out.put(fits.iterations[k]);
    out.put_text(fits.message[k]);
    out.put_text(fits.warnings[k]);
  }
  return std::move(out.text());
}

void take_group_bytes(std::string_view bytes, std::span<const std::size_t> groups, GroupsResult& fits) {
  ByteReader in(bytes);
  for (const std::size_t k : groups) {
    std::ranges::copy(in.get_all<double>(), &fits.parameters(k, 0));
    std::ranges::copy(in.get_all<double>(), &fits.standard_errors(k, 0));
    std::ranges::copy(in.get_all<unsigned char>(), &fits.at_bound[k * fits.parameter_names.size()]);
    for (auto* values : {&fits.cost, &fits.rss, &fits.r_squared, &fits.decrement_sigma})
      (*values)[k] = in.get<double>();
    fits.dof[k] = in.get<std::ptrdiff_t>();
    fits.verdict[k] = in.get<Verdict>();
    fits.termination[k] = in.get<Termination>();
    fits.iterations[k] = in.get<int>();
    fits.message[k] = in.get_text();
    fits.warnings[k] = in.get_text();
  }
}

}  // namespace nlsq::inline v0
