// Random points and cameras with records of J, for the kernels that eliminate points.
#pragma once

#include "kernels/block_kernels.hpp"

#include <Eigen/Core>

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <utility>
#include <vector>

namespace nlsq {

// Holds random points and cameras, and J also as one dense matrix with the columns of points first.
struct Scene {
  std::vector<std::uint32_t> point_size, point_offset, slot_first{0}, entry_first{0}, stride, rows,
      cell_first{0}, cell_entry, cell_column, entry_block, block_size, camera_offset{0}, pair_block;
  std::vector<std::uint64_t> point_matrix, pair_first{0}, record;
  std::vector<double> J;
  std::size_t pad = 0, points = 0, point_numbers = 0, matrix_numbers = 0, most = 0;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> block_of_target;
  Eigen::MatrixXd dense;
  Eigen::VectorXd r;

  // If `wide`, every residual block has all cameras, and two in three of these have derivatives that are
  // zero.
  Scene(unsigned seed, const std::vector<std::uint32_t>& cameras, const std::vector<std::uint32_t>& sizes,
        bool wide = false)
      : block_size(cameras) {
    std::mt19937 random(seed);
    const auto number = [&] { return static_cast<double>(random() % 2001) / 1000 - 1; };
    pad = (*std::ranges::max_element(cameras) + 15) / 16 * 16;
    for (const std::uint32_t c : cameras) camera_offset.push_back(camera_offset.back() + c);
    for (std::uint32_t a = 0; a < cameras.size(); ++a) {
      for (std::uint32_t b = a; b < cameras.size(); ++b) block_of_target.emplace_back(a, b);
    }
    points = sizes.size();
    for (const std::uint32_t e : sizes) {
      point_size.push_back(e);
      point_offset.push_back(static_cast<std::uint32_t>(point_numbers));
      point_matrix.push_back(matrix_numbers);
      point_numbers += e;
      matrix_numbers += triangle(e);
    }
    struct Row {
      std::vector<std::pair<std::size_t, double>> terms;
      double r;
    };
    std::vector<Row> all;
    for (std::size_t p = 0; p < points; ++p) {
      const std::size_t slots = sizes[p] == 0 ? 1 : 3 + random() % 4;
      std::vector<std::vector<std::uint32_t>> seen(slots);
      std::set<std::uint32_t> met;
      for (auto& cameras_of : seen) {
        std::set<std::uint32_t> some{static_cast<std::uint32_t>(random() % cameras.size())};
        if (random() % 3 == 0) some.insert(static_cast<std::uint32_t>(random() % cameras.size()));
        for (std::uint32_t c = 0; wide && c < cameras.size(); ++c) some.insert(c);
        cameras_of.assign(some.begin(), some.end());
        met.insert(some.begin(), some.end());
      }
      const std::vector<std::uint32_t> entries(met.begin(), met.end());
      for (const auto& cameras_of : seen) {
        std::uint32_t column = sizes[p] + 1;
        record.push_back(J.size());
        const auto count = static_cast<std::uint32_t>(1 + random() % 3);
        rows.push_back(count);
        for (const std::uint32_t c : cameras_of) {
          cell_entry.push_back(static_cast<std::uint32_t>(std::ranges::find(entries, c) - entries.begin()));
          cell_column.push_back(column);
          column += cameras[c];
        }
        cell_first.push_back(static_cast<std::uint32_t>(cell_entry.size()));
        stride.push_back(column);
        std::set<std::uint32_t> zero;
        for (std::uint32_t c = 0; wide && c < cameras.size(); ++c) {
          if (random() % 3 != 0) zero.insert(c);
        }
        for (std::uint32_t i = 0; i < count; ++i) {
          Row row{{}, 0};
          for (std::uint32_t k = 0; k < sizes[p]; ++k)
            J.push_back(number()), row.terms.emplace_back(point_offset[p] + k, J.back());
          J.push_back(number());
          row.r = J.back();
          for (const std::uint32_t c : cameras_of) {
            const double factor = zero.contains(c) ? 0 : 1;
            for (std::uint32_t k = 0; k < cameras[c]; ++k)
              J.push_back(factor * number()),
                  row.terms.emplace_back(point_numbers + camera_offset[c] + k, J.back());
          }
          all.push_back(row);
        }
      }
      slot_first.push_back(static_cast<std::uint32_t>(record.size()));
      for (std::size_t i = 0; i < entries.size(); ++i) {
        entry_block.push_back(entries[i]);
        for (std::size_t j = i; j < entries.size(); ++j) {
          const std::pair key(entries[i], entries[j]);
          pair_block.push_back(
              static_cast<std::uint32_t>(std::ranges::find(block_of_target, key) - block_of_target.begin()));
        }
      }
      entry_first.push_back(static_cast<std::uint32_t>(entry_block.size()));
      pair_first.push_back(pair_block.size());
      most = std::max(most, entries.size() * sizes[p]);
    }
    J.resize(J.size() + pad, 1e30);  // this is read, but not used
    dense = Eigen::MatrixXd::Zero(static_cast<Eigen::Index>(all.size()),
                                  static_cast<Eigen::Index>(point_numbers + camera_offset.back()));
    r.resize(static_cast<Eigen::Index>(all.size()));
    for (std::size_t i = 0; i < all.size(); ++i) {
      r[static_cast<Eigen::Index>(i)] = all[i].r;
      for (const auto& [j, v] : all[i].terms)
        dense(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) = v;
    }
  }

  ReducedLayout layout(std::size_t k, std::size_t lanes) const {
    return {block_size[block_of_target[k].first], block_size[block_of_target[k].second], lanes};
  }
  // Returns the offsets of the blocks of S, and the end.
  std::vector<std::uint64_t> targets(std::size_t lanes) const {
    std::vector<std::uint64_t> offsets{0};
    for (std::size_t k = 0; k < block_of_target.size(); ++k)
      offsets.push_back(offsets.back() + layout(k, lanes).numbers());
    return offsets;
  }

  std::vector<std::uint32_t> pair_table() const {
    std::vector<std::uint32_t> table(block_size.size() * block_size.size(), 0xffffffffU);
    for (std::uint32_t k = 0; k < block_of_target.size(); ++k)
      table[block_of_target[k].first * block_size.size() + block_of_target[k].second] = k;
    return table;
  }

  template <class R>
  EliminationData<R> data(const std::vector<R>& records, const std::vector<std::uint64_t>& offsets) const {
    return {records.data(),      pad,
            point_size.data(),   point_offset.data(),
            point_matrix.data(), slot_first.data(),
            entry_first.data(),  pair_first.data(),
            record.data(),       stride.data(),
            rows.data(),         cell_first.data(),
            cell_entry.data(),   cell_column.data(),
            entry_block.data(),  pair_block.data(),
            offsets.data(),      block_size.data()};
  }
};

}  // namespace nlsq
