// Implements Rows and SharedData: columns whose rows lie on several processes.
#include <nlsq/mpi.hpp>

#include <nlsq/error.hpp>

#include <algorithm>
#include <cstdint>
#include <mutex>

namespace nlsq::inline v0::mpi {

namespace {

// Readers of direct_f64() read at most this many rows from there.
constexpr std::size_t kLongestRead = 65536;
// Rows that are fetched at once where a reader goes through them in order.
constexpr std::size_t kFetchedAhead = 65536;

// Describes how the numbers of a column lie in memory, so that other processes can fetch them. It is equal on
// all processes that have rows.
struct Layout {
  enum class Kind : std::uint64_t { none, floats, doubles, others } kind = Kind::none;
  std::size_t stride = 1;
  bool operator==(const Layout&) const = default;
};

Layout layout_of(const Column& column) {
  if (column.empty()) return {};
  const bool known = column.type() == ElementType::f32 || column.type() == ElementType::f64;
  if (!known || column.stride() < 1) return {Layout::Kind::others, 1};
  return {column.type() == ElementType::f32 ? Layout::Kind::floats : Layout::Kind::doubles,
          static_cast<std::size_t>(column.stride())};
}

std::vector<std::uint64_t> all_of(MPI_Comm communicator, std::uint64_t mine) {
  int size = 1;
  MPI_Comm_size(communicator, &size);
  std::vector<std::uint64_t> out(static_cast<std::size_t>(size));
  MPI_Allgather(&mine, 1, MPI_UINT64_T, out.data(), 1, MPI_UINT64_T, communicator);
  return out;
}

}  // namespace

// Holds a window of each column, through which the others read this process's rows. A single process has
// none.
struct Rows::Windows {
  struct Window {
    MPI_Win window = MPI_WIN_NULL;
    bool floats = false;
    std::size_t stride = 1;    // distance between rows in numbers
    std::vector<double> copy;  // of numbers that cannot be fetched from their own memory
    // The rows that were fetched last.
    int rank = -1;
    std::size_t first = 0, count = 0;
    std::vector<double> wide;
    std::vector<float> narrow;
  };

  Windows(MPI_Comm communicator, const std::vector<Column>& columns) : windows(columns.size()) {
    for (std::size_t c = 0; c < columns.size(); ++c) open(communicator, columns[c], windows[c]);
  }
  ~Windows() {
    for (Window& w : windows) {
      MPI_Win_unlock_all(w.window);
      MPI_Win_free(&w.window);
    }
  }

  // Opens a window to the memory of a column, or to its copy as doubles if the processes store their numbers
  // differently.
  static void open(MPI_Comm communicator, const Column& column, Window& w) {
    const Layout mine = layout_of(column);
    Layout all;
    const std::vector<std::uint64_t> kinds = all_of(communicator, static_cast<std::uint64_t>(mine.kind));
    const std::vector<std::uint64_t> strides = all_of(communicator, mine.stride);
    for (std::size_t k = 0; k < kinds.size(); ++k) {
      const Layout next{static_cast<Layout::Kind>(kinds[k]), static_cast<std::size_t>(strides[k])};
      if (next.kind == Layout::Kind::none) continue;
      all = all.kind == Layout::Kind::none || all == next ? next : Layout{Layout::Kind::others, 1};
    }
    w.floats = all.kind == Layout::Kind::floats;
    const void* memory = column.memory();
    if (all.kind == Layout::Kind::others) {
      w.copy.resize(column.size());
      if (!column.empty()) column.read(0, column.size(), w.copy.data());
      memory = w.copy.data();
    } else {
      w.stride = all.stride;
    }
    const std::size_t item = w.floats ? sizeof(float) : sizeof(double);
    const std::size_t numbers = column.empty() ? 0 : (column.size() - 1) * w.stride + 1;
    MPI_Win_create(const_cast<void*>(memory), static_cast<MPI_Aint>(numbers * item), static_cast<int>(item),
                   MPI_INFO_NULL, communicator, &w.window);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, w.window);
  }

  // Makes rows of process `rank` available, counted from its first row, and returns where they are. `most` is
  // the number of rows that it has from there on. Readers that continue where the last fetch ended get a long
  // piece.
  template <class Use>
  void fetch(std::size_t column, int rank, std::size_t first, std::size_t count, std::size_t most, Use use) {
    const std::lock_guard lock(mutex);
    Window& w = windows[column];
    const bool there = w.rank == rank && w.first <= first && first + count <= w.first + w.count;
    if (!there) {
      const bool in_order = w.rank == rank && first == w.first + w.count;
      w.count = in_order ? std::clamp(kFetchedAhead, count, std::max(count, most)) : count;
      w.first = first;
      w.rank = rank;
      if (w.floats) get(w, w.narrow, MPI_FLOAT);
      else get(w, w.wide, MPI_DOUBLE);
    }
    const std::size_t at = (first - w.first) * w.stride;
    if (w.floats) use(w.narrow.data() + at, w.stride);
    else use(w.wide.data() + at, w.stride);
  }

  template <class T>
  static void get(const Window& w, std::vector<T>& out, MPI_Datatype type) {
    out.resize((w.count - 1) * w.stride + 1);
    const auto count = static_cast<int>(out.size());
    MPI_Get(out.data(), count, type, w.rank, static_cast<MPI_Aint>(w.first * w.stride), count, type,
            w.window);
    MPI_Win_flush(w.rank, w.window);
  }

  std::mutex mutex;
  std::vector<Window> windows;
};

Rows::Rows(MPI_Comm communicator, std::vector<Column> columns) : columns_(std::move(columns)) {
  int threads = 0, rank = 0;
  MPI_Query_thread(&threads);
  MPI_Comm_rank(communicator, &rank);
  const std::size_t own = columns_.empty() ? 0 : columns_.front().size();
  const bool even = std::ranges::all_of(columns_, [&](const Column& c) { return c.size() == own; });
  const auto is_false = [&](bool mine) {  // false on some process
    const std::vector<std::uint64_t> all = all_of(communicator, mine ? 1 : 0);
    return std::ranges::find(all, 0u) != all.end();
  };
  if (is_false(threads >= MPI_THREAD_SERIALIZED))
    throw Error("nlsq::mpi: initialise MPI with MPI_THREAD_SERIALIZED or more: threads read rows");
  if (is_false(even)) throw Error("nlsq::mpi: the columns of a process have different lengths");
  const std::vector<std::uint64_t> widths = all_of(communicator, columns_.size());
  if (std::ranges::any_of(widths, [&](std::uint64_t width) { return width != columns_.size(); }))
    throw Error("nlsq::mpi: the processes have different numbers of columns");
  ends_.push_back(0);
  for (const std::uint64_t rows : all_of(communicator, own)) ends_.push_back(ends_.back() + rows);
  begin_ = ends_[static_cast<std::size_t>(rank)];
  end_ = ends_[static_cast<std::size_t>(rank) + 1];
  team_ = std::make_shared<ProcessTeam>(communicator, ends_);
  if (team_->size() > 1) windows_ = std::make_unique<Windows>(communicator, columns_);
}

Rows::~Rows() = default;

template <class T>
void Rows::read_as(std::size_t first, std::size_t count, int column, T* out) const {
  const auto c = static_cast<std::size_t>(column);
  while (count > 0) {
    const auto next = std::upper_bound(ends_.begin(), ends_.end(), first);
    const std::size_t some = std::min(count, *next - first), begin = *(next - 1);
    if (begin == begin_ && first < end_) {
      columns_[c].read(first - begin_, some, out);
    } else {
      const auto rank = static_cast<int>(next - ends_.begin()) - 1;
      windows_->fetch(c, rank, first - begin, some, *next - first, [&](const auto* from, auto stride) {
        for (std::size_t i = 0; i < some; ++i) out[i] = static_cast<T>(from[i * stride]);
      });
    }
    first += some;
    count -= some;
    out += some;
  }
}

void Rows::read(std::size_t first, std::size_t count, int column, double* out) const {
  read_as(first, count, column, out);
}

void Rows::read(std::size_t first, std::size_t count, int column, float* out) const {
  read_as(first, count, column, out);
}

const double* Rows::direct_f64(std::size_t first, int column) const {
  const bool here = first >= begin_ && (first + kLongestRead <= end_ || (end_ == rows() && first < end_));
  return here ? columns_[static_cast<std::size_t>(column)].direct_f64(first - begin_) : nullptr;
}

const float* Rows::direct_f32(std::size_t first, int column) const {
  const bool here = first >= begin_ && (first + kLongestRead <= end_ || (end_ == rows() && first < end_));
  return here ? columns_[static_cast<std::size_t>(column)].direct_f32(first - begin_) : nullptr;
}

// A process without rows may have left sigma empty, so the other processes determine whether there is a
// sigma.
SharedData::SharedData(MPI_Comm communicator, const Columns& x, const Column& y, const FitOptions& options)
    : predictors_(x.size()), options_(options) {
  const auto most = [&](std::size_t mine) { return std::ranges::max(all_of(communicator, mine)); };
  if (most(options.sigma_matrix.empty() ? 0 : 1) > 0)
    throw ValidationError("sigma_matrix: fits by several processes take none; give sigma");
  std::vector<Column> columns = x.list();
  columns.push_back(y);
  const bool weighted = most(options.sigma.empty() ? 0 : 1) > 0;
  if (weighted) columns.push_back(options.sigma);
  const std::size_t errors = most(options.sigma_x.size());
  std::vector<bool> has_error(errors);
  for (std::size_t k = 0; k < errors; ++k) {
    const Column mine = k < options.sigma_x.size() ? options.sigma_x[k] : Column();
    has_error[k] = most(mine.empty() ? 0 : 1) > 0;
    if (has_error[k]) columns.push_back(mine);
  }
  rows_ = std::make_unique<Rows>(communicator, std::move(columns));
  auto c = static_cast<int>(predictors_) + 1;
  if (weighted) options_.sigma = Column(*rows_, c++);
  options_.sigma_x.assign(errors, {});
  for (std::size_t k = 0; k < errors; ++k)
    if (has_error[k]) options_.sigma_x[k] = Column(*rows_, c++);
  options_.team = rows_->team();
}

Columns SharedData::x() const {
  std::vector<Column> out;
  for (std::size_t k = 0; k < predictors_; ++k) out.emplace_back(*rows_, static_cast<int>(k));
  return out;
}

Column SharedData::y() const { return {*rows_, static_cast<int>(predictors_)}; }

}  // namespace nlsq::inline v0::mpi
