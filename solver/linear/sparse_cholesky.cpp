// Implements the layout of the fronts, the factorization and the solve.
#include "linear/sparse_cholesky.hpp"

#include "kernels/block_kernels.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace nlsq::inline v0 {

namespace {

std::size_t whole_vectors(std::size_t n) { return (n + 7) / 8 * 8; }

}  // namespace

SparseCholesky::SparseCholesky(std::vector<std::uint32_t> sizes, const Pairs& pairs)
    : sizes_(std::move(sizes)), ordering_(sizes_, pairs), fronts_(ordering_.supernodes.size()) {
  std::vector<std::size_t> first(1, 0);
  for (const std::uint32_t size : sizes_) first.push_back(first.back() + size);
  for (const std::uint32_t block : ordering_.block) offset_.push_back(first[block]);
  lay_out(pairs);
  factor_.resize(numbers_ + 8);
  front_.resize(largest_ + 16);
  stack_.resize(stacked_ + 1);
  local_.resize(most_rows_);
}

void SparseCholesky::lay_out(const Pairs& pairs) {
  const auto& nodes = ordering_.supernodes;
  std::vector<std::uint32_t> holder(sizes_.size());
  for (std::uint32_t s = 0; s < nodes.size(); ++s)
    std::fill_n(holder.begin() + nodes[s].first, nodes[s].columns, s);
  std::vector<std::size_t> row(sizes_.size(), 0);  // of each block in the current front
  const auto number_rows = [&](std::uint32_t s) {
    std::size_t next = 0;
    for (std::uint32_t i = nodes[s].first; i < nodes[s].first + nodes[s].columns; ++i)
      row[i] = std::exchange(next, next + size_of(i));
    const std::size_t columns = next;
    for (const std::uint32_t i : nodes[s].below) row[i] = std::exchange(next, next + size_of(i));
    return std::pair(columns, next);
  };
  std::vector<std::vector<std::size_t>> own(nodes.size());
  for (std::size_t k = 0; k < pairs.size(); ++k) {
    own[holder[std::min(ordering_.place[pairs[k].first], ordering_.place[pairs[k].second])]].push_back(k);
  }
  for (std::uint32_t s = 0; s < nodes.size(); ++s) {
    if (nodes[s].parent >= 0) fronts_[static_cast<std::size_t>(nodes[s].parent)].children.push_back(s);
  }
  std::size_t stacked = 0;
  for (std::uint32_t s = 0; s < nodes.size(); ++s) {
    Front& front = fronts_[s];
    std::tie(front.columns, front.rows) = number_rows(s);
    front.ld = whole_vectors(front.rows);
    front.factor = numbers_;
    numbers_ += front.columns * front.ld;
    largest_ = std::max(largest_, front.rows * front.ld);
    most_rows_ = std::max(most_rows_, front.rows);
    front.own = std::move(own[s]);
    for (const std::size_t k : front.own) {
      const std::uint32_t a = ordering_.place[pairs[k].first], b = ordering_.place[pairs[k].second];
      front.places.push_back({nullptr, front.ld, row[std::min(a, b)], row[std::max(a, b)], a > b});
    }
    for (const std::uint32_t child : front.children) {
      for (const std::uint32_t i : nodes[child].below) fronts_[child].into.push_back(row[i]);
      stacked -= triangle(fronts_[child].rows - fronts_[child].columns);
    }
    stacked += triangle(front.rows - front.columns);
    stacked_ = std::max(stacked_, stacked);
  }
}

double SparseCholesky::operations() const {
  double sum = 0;
  for (const Front& front : fronts_) {
    const auto rows = static_cast<double>(front.rows),
               below = static_cast<double>(front.rows - front.columns);
    sum += rows * rows * rows - below * below * below;
  }
  return sum;
}

// Adds the packed lower triangle `update` of a child to the places of its blocks in the parent's front.
void SparseCholesky::add_child(const Front& child, const Supernode& node, const double* update, double* front,
                               std::size_t ld) const {
  for (std::size_t p = 0; p < node.below.size(); ++p) {
    for (std::size_t j = 0; j < size_of(node.below[p]); ++j) {
      double* to = front + (child.into[p] + j) * ld;
      std::size_t done = j;
      for (std::size_t q = p; q < node.below.size(); ++q) {
        double* at = to + child.into[q];
        const std::size_t size = size_of(node.below[q]);
        for (std::size_t i = done; i < size; ++i) at[i] += *update++;
        done = 0;
      }
    }
  }
}

bool SparseCholesky::factor(const std::function<void(std::size_t, const FrontPlace&)>& add) {
  std::size_t top = 0;
  for (std::size_t s = 0; s < fronts_.size(); ++s) {
    const Front& front = fronts_[s];
    double* A = front_.data();
    for (std::size_t j = 0; j < front.rows; ++j)
      std::fill(A + j * front.ld + j / 8 * 8, A + (j + 1) * front.ld, 0.0);
    for (std::size_t i = 0; i < front.own.size(); ++i) {
      FrontPlace place = front.places[i];
      place.front = A;
      add(front.own[i], place);
    }
    for (std::size_t c = front.children.size(); c-- > 0;) {  // the last child pushed is on top
      const Front& child = fronts_[front.children[c]];
      top -= triangle(child.rows - child.columns);
      add_child(child, ordering_.supernodes[front.children[c]], stack_.data() + top, A, front.ld);
    }
    if (!block_kernels().cholesky_part_f64(A, front.rows, front.ld, front.columns)) return false;
    std::copy_n(A, front.columns * front.ld, factor_.data() + front.factor);
    for (std::size_t j = front.columns; j < front.rows; ++j) {
      std::copy(A + j * front.ld + j, A + j * front.ld + front.rows, stack_.data() + top);
      top += front.rows - j;
    }
  }
  return true;
}

void SparseCholesky::solve(std::span<double> b) {
  const auto& nodes = ordering_.supernodes;
  // Calls work(numbers of a block in b, row in the front, size) for all blocks of a front.
  const auto for_each_block = [&](std::size_t s, auto work) {
    std::size_t row = 0;
    const auto visit = [&](std::uint32_t place) {
      work(b.data() + offset_[place], row, size_of(place));
      row += size_of(place);
    };
    for (std::uint32_t i = nodes[s].first; i < nodes[s].first + nodes[s].columns; ++i) visit(i);
    for (const std::uint32_t i : nodes[s].below) visit(i);
  };
  double* local = local_.data();
  for (std::size_t s = 0; s < fronts_.size(); ++s) {
    const Front& front = fronts_[s];
    const double* L = factor_.data() + front.factor;
    for_each_block(s, [&](const double* from, std::size_t row, std::size_t size) {
      std::copy_n(from, size, local + row);
    });
    for (std::size_t j = 0; j < front.columns; ++j, L += front.ld) {
      const double x = local[j] /= L[j];
      for (std::size_t i = j + 1; i < front.rows; ++i) local[i] -= L[i] * x;
    }
    for_each_block(
        s, [&](double* to, std::size_t row, std::size_t size) { std::copy_n(local + row, size, to); });
  }
  for (std::size_t s = fronts_.size(); s-- > 0;) {
    const Front& front = fronts_[s];
    for_each_block(s, [&](const double* from, std::size_t row, std::size_t size) {
      std::copy_n(from, size, local + row);
    });
    for (std::size_t j = front.columns; j-- > 0;) {
      const double* L = factor_.data() + front.factor + j * front.ld;
      double sum = local[j];
      for (std::size_t i = j + 1; i < front.rows; ++i) sum -= L[i] * local[i];
      local[j] = sum / L[j];
    }
    std::size_t row = 0;
    for (std::uint32_t i = nodes[s].first; i < nodes[s].first + nodes[s].columns; ++i) {
      std::copy_n(local + row, size_of(i), b.data() + offset_[i]);
      row += size_of(i);
    }
  }
}

void SparseCholesky::diagonal(std::span<double> out) const {
  for (std::size_t s = 0; s < fronts_.size(); ++s) {
    const Supernode& node = ordering_.supernodes[s];
    const double* L = factor_.data() + fronts_[s].factor;
    std::size_t column = 0;
    for (std::uint32_t place = node.first; place < node.first + node.columns; ++place) {
      for (std::size_t i = 0; i < size_of(place); ++i, ++column)
        out[offset_[place] + i] = L[column * fronts_[s].ld + column];
    }
  }
}

std::size_t SparseCholesky::bytes() const {
  std::size_t indices = 0;
  for (const Front& front : fronts_)
    indices += front.into.size() * sizeof(std::size_t) +
               front.own.size() * (sizeof(std::size_t) + sizeof(FrontPlace)) + sizeof(Front);
  for (const Supernode& node : ordering_.supernodes)
    indices += node.below.size() * sizeof(std::uint32_t) + sizeof(Supernode);
  return (numbers_ + largest_ + stacked_) * sizeof(double) + indices + sizes_.size() * 24;
}

}  // namespace nlsq::inline v0
