// Implements RecordFinish: manifolds, residuals, losses and bounds in the records of J.
#include "blocks/record_finish.hpp"

#include <cmath>

namespace nlsq::inline v0 {

// Returns Triggs's correction (Bundle Adjustment: A Modern Synthesis, 2000, section 4.3): √ρ' on J and r.
// Where ρ'' > 0, it adds the curvature along r, because steps by JᵀJ alone would be too long. Where ρ'' < 0,
// that curvature would only reduce H and is left out.
LossWeight weight_of(const BlockStructure& structure, std::size_t slot, const double* r) {
  if (structure.losses.empty() || structure.losses[slot].is_linear()) return {};
  const Loss& loss = structure.losses[slot];
  double squares = 0;
  for (std::size_t i = 0; i < structure.rows[slot]; ++i) squares += r[i] * r[i];
  const double slope = loss(squares).slope;
  LossWeight out{std::sqrt(slope), 0};
  if (!loss.is_own() || !(slope > 0) || !(squares > 0)) return out;
  constexpr double kShare = 0x1p-20;  // ρ'' is unknown: differences of ρ'
  const double curvature = (loss(squares * (1 + kShare)).slope - slope) / (squares * kShare);
  const double stretch = 2 * curvature * squares / slope;
  if (stretch > kShare && std::isfinite(stretch)) out.along = (std::sqrt(1 + stretch) - 1) / squares;
  return out;
}

void multiply_by_weights(const BlockStructure& structure, const std::vector<double>& r,
                         std::vector<double>& numbers) {
  for (std::size_t slot = 0; slot < structure.list.blocks(); ++slot) {
    const std::size_t first = structure.list.row[slot];
    const double root = weight_of(structure, slot, r.data() + first).root;
    for (std::size_t i = first; root != 1 && i < first + structure.rows[slot]; ++i) numbers[i] *= root;
  }
}

namespace {

// Replaces J by (I + along r rᵀ) J, and scales r so that Jᵀr does not change. `residual` is its column.
template <class T>
void stretch_along_residual(T* record, std::size_t rows, std::size_t stride, std::size_t residual,
                            const double* r, double along) {
  double squares = 0;
  for (std::size_t i = 0; i < rows; ++i) squares += r[i] * r[i];
  const double shrink = 1 / (1 + along * squares);
  for (std::size_t j = 0; j < stride; ++j) {
    if (j == residual) continue;
    double sum = 0;
    for (std::size_t i = 0; i < rows; ++i) sum += r[i] * static_cast<double>(record[i * stride + j]);
    for (std::size_t i = 0; i < rows; ++i) record[i * stride + j] += static_cast<T>(along * r[i] * sum);
  }
  for (std::size_t i = 0; i < rows; ++i) record[i * stride + residual] *= static_cast<T>(shrink);
}

}  // namespace

RecordFinish::RecordFinish(const Problem::Impl& problem, const BlockStructure& structure)
    : problem_(problem), structure_(structure) {
  std::size_t size = 0;
  if (structure.manifold_records.empty()) return;
  for (const ParameterBlock& block : problem.parameters) {
    plus_offset_.push_back(size);
    if (block.manifold && block.tangent() > 0)
      size += static_cast<std::size_t>(block.size) * static_cast<std::size_t>(block.tangent());
  }
  plus_.resize(size);
}

void RecordFinish::begin(std::span<const double> x, std::span<const double> r, bool apply_losses) {
  r_ = r;
  losses_ = apply_losses;
  held_.clear();
  if (plus_.empty()) return;
  for (std::size_t p = 0; p < problem_.parameters.size(); ++p) {
    const ParameterBlock& block = problem_.parameters[p];
    if (block.manifold && block.tangent() > 0)
      block.manifold->plus_jacobian(x.data() + structure_.list.offsets[p], plus_.data() + plus_offset_[p]);
  }
}

template <class T>
void RecordFinish::map_to_tangent(std::size_t first, std::size_t last, const RecordTarget<T>& J) const {
  const BlockStructure& s = structure_;
  auto mapped = std::ranges::lower_bound(s.manifold_records, first, {}, &ManifoldRecord::slot);
  for (; mapped != s.manifold_records.end() && mapped->slot < last; ++mapped) {
    std::size_t next = s.list.first[mapped->slot];
    for (const std::uint32_t p : s.list.of(mapped->slot)) {
      const std::size_t k = next++;
      if (s.list.column[k] < 0) continue;
      const ParameterBlock& block = problem_.parameters[p];
      const auto ambient = static_cast<std::size_t>(block.size),
                 tangent = static_cast<std::size_t>(block.tangent());
      const T* from = J.at(mapped->ambient) + static_cast<std::size_t>(s.list.column[k]);
      T* to = J.at(s.record()[mapped->slot]) + static_cast<std::size_t>(s.local_column()[k]);
      for (std::size_t i = 0; i < s.rows[mapped->slot]; ++i) {
        for (std::size_t j = 0; j < tangent; ++j) {
          double sum = block.manifold ? 0 : static_cast<double>(from[j]);
          for (std::size_t a = 0; block.manifold && a < ambient; ++a) {
            sum += static_cast<double>(from[a]) * plus_[plus_offset_[p] + a * tangent + j];
          }
          to[j] = static_cast<T>(sum);
        }
        from += mapped->ambient_stride;
        to += s.stride()[mapped->slot];
      }
    }
  }
}

template <class T>
void RecordFinish::finish(std::size_t first, std::size_t last, const RecordTarget<T>& J) const {
  const BlockStructure& s = structure_;
  map_to_tangent(first, last, J);
  const EvenView<std::uint64_t> records = s.record().view();
  const EvenView<std::uint32_t> strides = s.stride().view(), all_rows = s.rows.view(),
                                row_of = s.list.row.view(), residual_of = s.point_size.view();
  const bool weighted = losses_ && !s.losses.empty();
  std::size_t point =
      static_cast<std::size_t>(std::ranges::upper_bound(s.slot_first, first) - s.slot_first.begin()) - 1;
  for (std::size_t slot = first; slot < last; ++slot) {
    while (slot >= s.slot_first[point + 1]) ++point;
    const double* r = r_.data() + row_of[slot];
    T* record = J.at(records[slot]);
    const std::size_t rows = all_rows[slot], stride = strides[slot], residual = residual_of[point];
    for (std::size_t i = 0; i < rows; ++i) record[i * stride + residual] = static_cast<T>(r[i]);
    if (!weighted) continue;
    const LossWeight weight = weight_of(s, slot, r);
    for (std::size_t j = 0; weight.root != 1 && j < rows * stride; ++j)
      record[j] *= static_cast<T>(weight.root);
    if (weight.along > 0) stretch_along_residual(record, rows, stride, residual, r, weight.along);
  }
  if (!held_.empty()) clear_held(first, last, J);
}

template <class T>
void RecordFinish::clear_held(std::size_t first, std::size_t last, const RecordTarget<T>& J) const {
  const BlockStructure& s = structure_;
  for (std::size_t slot = first; slot < last; ++slot) {
    const std::int32_t* columns = s.local_column().data() + s.list.first[slot];
    for (const std::uint32_t p : s.list.of(slot)) {
      const std::int32_t column = *columns++;
      if (column < 0) continue;
      const auto tangent = static_cast<std::size_t>(s.tangent_offset(p));
      for (std::size_t c = 0; c < static_cast<std::size_t>(problem_.parameters[p].tangent()); ++c) {
        if (!held_[tangent + c]) continue;
        T* at = J.at(s.record()[slot]) + static_cast<std::size_t>(column) + c;
        for (std::size_t i = 0; i < s.rows[slot]; ++i) at[i * s.stride()[slot]] = T(0);
      }
    }
  }
}

template void RecordFinish::finish(std::size_t, std::size_t, const RecordTarget<float>&) const;
template void RecordFinish::finish(std::size_t, std::size_t, const RecordTarget<double>&) const;
template void RecordFinish::clear_held(std::size_t, std::size_t, const RecordTarget<float>&) const;
template void RecordFinish::clear_held(std::size_t, std::size_t, const RecordTarget<double>&) const;

}  // namespace nlsq::inline v0
