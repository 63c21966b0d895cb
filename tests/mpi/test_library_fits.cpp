// Tests nlsq::mpi::curve_fit. Processes that hold parts of the rows must get the bits of one that has them
// all. mpirun starts this program three times.
#include "same_fit.hpp"

#include <doctest/doctest.h>

#include <nlsq/mpi.hpp>

#include <cmath>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

using namespace nlsq;

namespace {

// MPI lives as long as the program.
int rank_of_this() {
  static const int rank = [] {
    int threads = 0, mine = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &threads);
    MPI_Comm_rank(MPI_COMM_WORLD, &mine);
    std::atexit([] { MPI_Finalize(); });
    return mine;
  }();
  return rank;
}

constexpr std::size_t kRows = 400'000;

struct Data {
  Data() : x(kRows), y(kRows), sigma(kRows), pairs(2 * kRows), counts(kRows) {
    std::mt19937_64 random(11);
    std::normal_distribution<double> noise;
    for (std::size_t i = 0; i < kRows; ++i) {
      x[i] = 6.0 * static_cast<double>(i) / kRows;
      sigma[i] = 0.02 + 0.01 * x[i];
      y[i] = 2 * std::exp(-0.9 * x[i]) + 0.3 + sigma[i] * noise(random);
      pairs[2 * i] = static_cast<float>(x[i]);
      pairs[2 * i + 1] = static_cast<float>(y[i]);
      counts[i] = static_cast<std::int32_t>(std::lround(1000 * y[i]));
    }
  }
  std::vector<double> x, y, sigma;
  std::vector<float> pairs;  // x, y of each row
  std::vector<std::int32_t> counts;
};

const Data& data() {
  static const Data all;
  return all;
}

// Says which rows belong to this process. The second of three processes has none.
struct Part {
  std::size_t first, count;
};
Part part_of(int rank) {
  constexpr std::size_t kEdge = 123'457;
  if (rank == 0) return {0, kEdge};
  return rank == 1 ? Part{kEdge, 0} : Part{kEdge, kRows - kEdge};
}

void check_same(const FitResult& a, const FitResult& b) {
  check_same_numbers(a, b);
  CHECK(a.guess == b.guess);
  CHECK(a.rows == b.rows);
  CHECK(a.summary.counted_work == b.summary.counted_work);
}

}  // namespace

TEST_CASE("rows on three processes, one of which has none: the bits of one process") {
  const Part mine = part_of(rank_of_this());
  const Data& all = data();
  const Column x(all.x.data() + mine.first, mine.count), y(all.y.data() + mine.first, mine.count);
  FitOptions here, whole;
  here.threads = whole.threads = 2;
  const NamedValues start = {{"a", 1.0}, {"b", 1.0}, {"c", 0.0}};
  SUBCASE("a formula") {
    check_same(mpi::curve_fit(MPI_COMM_WORLD, "a*exp(-b*x)+c", x, y, start, here),
               curve_fit("a*exp(-b*x)+c", all.x, all.y, start, whole));
  }
  SUBCASE("sigma, which the process without rows does not give") {
    if (mine.count > 0) here.sigma = Column(all.sigma.data() + mine.first, mine.count);
    whole.sigma = all.sigma;
    check_same(mpi::curve_fit(MPI_COMM_WORLD, "a*exp(-b*x)+c", x, y, start, here),
               curve_fit("a*exp(-b*x)+c", all.x, all.y, start, whole));
  }
  SUBCASE("a built-in model, which guesses its start") {
    check_same(mpi::curve_fit(MPI_COMM_WORLD, model("exp"), x, y, NamedValues{}, here),
               curve_fit(model("exp"), all.x, all.y, {}, whole));
  }
  SUBCASE("a callable") {
    const auto decay = [](auto x, const auto& p) {
      using std::exp;
      return p[0] * exp(-p[1] * x) + p[2];
    };
    check_same(mpi::curve_fit(MPI_COMM_WORLD, decay, x, y, {1, 1, 0}, here),
               curve_fit(decay, all.x, all.y, {1, 1, 0}, whole));
  }
  SUBCASE("numbers of four bytes that alternate in memory, and integers") {
    const Column fx(all.pairs.data() + 2 * mine.first, mine.count, 2),
        fy(all.pairs.data() + 2 * mine.first + 1, mine.count, 2),
        counts(all.counts.data() + mine.first, mine.count);
    check_same(mpi::curve_fit(MPI_COMM_WORLD, "a*exp(-b*x)+c", fx, fy, start, here),
               curve_fit("a*exp(-b*x)+c", Column(all.pairs.data(), kRows, 2),
                         Column(all.pairs.data() + 1, kRows, 2), start, whole));
    check_same(mpi::curve_fit(MPI_COMM_WORLD, "a*exp(-b*x)+c", fx, counts, start, here),
               curve_fit("a*exp(-b*x)+c", Column(all.pairs.data(), kRows, 2), all.counts, start, whole));
  }
}

TEST_CASE("every process reads every row") {
  const Part mine = part_of(rank_of_this());
  const Data& all = data();
  const mpi::Rows rows(MPI_COMM_WORLD, {Column(all.x.data() + mine.first, mine.count),
                                        Column(all.pairs.data() + 2 * mine.first, mine.count, 2)});
  REQUIRE(rows.rows() == kRows);
  for (const std::size_t first : {std::size_t{0}, std::size_t{123'400}, std::size_t{300'000}, kRows - 1000}) {
    std::vector<double> wide(1000);
    std::vector<float> narrow(1000);
    rows.read(first, 1000, 0, wide.data());
    rows.read(first, 1000, 1, narrow.data());
    bool same = true;
    for (std::size_t i = 0; i < 1000; ++i)
      same = same && wide[i] == all.x[first + i] && narrow[i] == all.pairs[2 * (first + i)];
    CHECK(same);
  }
  std::vector<double> whole(kRows);
  for (std::size_t first = 0; first < kRows; first += 512)  // in order, so that long pieces are read
    rows.read(first, std::min<std::size_t>(512, kRows - first), 0, whole.data() + first);
  CHECK(whole == all.x);
  const double* const direct = rows.direct_f64(mine.first, 0);
  if (mine.count > 100'000) CHECK(direct == all.x.data() + mine.first);
  CHECK(rows.direct_f64(mine.first == 0 ? kRows - 1 : 0, 0) == nullptr);
}

TEST_CASE("an error of one process's rows is thrown in all, and a fit works after it") {
  const Part mine = part_of(rank_of_this());
  std::vector<double> y(data().y);
  y[kRows - 7] = NAN;
  const Column x(data().x.data() + mine.first, mine.count);
  const std::string name = "row " + std::to_string(kRows - 7);
  CHECK_THROWS_WITH_AS(
      mpi::curve_fit(MPI_COMM_WORLD, "a*x", x, Column(y.data() + mine.first, mine.count), NamedValues{}),
      doctest::Contains(name.c_str()), DataError);
  FitOptions options;
  options.max_seconds = 1;
  CHECK_THROWS_AS(mpi::curve_fit(MPI_COMM_WORLD, "a*x", x, x, NamedValues{}, options), ValidationError);
  CHECK(mpi::curve_fit(MPI_COMM_WORLD, "a*x", x, x, NamedValues{}).parameters[0] == doctest::Approx(1));
  CHECK_THROWS_WITH_AS(
      mpi::Rows(MPI_COMM_WORLD, std::vector<Column>(static_cast<std::size_t>(1 + rank_of_this()), x)),
      doctest::Contains("different numbers of columns"), Error);
}
