// Divides a program into runs of instructions that have machine code, and generates it.
#include "machine_code/program_steps.hpp"

#include "kernels/functions/own_atan.hpp"
#include "kernels/functions/own_erf.hpp"
#include "kernels/functions/own_erfc.hpp"
#include "kernels/functions/own_expm1.hpp"
#include "kernels/functions/own_log1p.hpp"
#include "kernels/functions/own_log_pow.hpp"
#include "kernels/functions/own_sincos.hpp"
#include "kernels/functions/own_tanh.hpp"
#include "kernels/operations.hpp"
#include "machine_code/encoder.hpp"
#include "machine_code/vector_code.hpp"
#include "machine_code/writer.hpp"

#include <cstring>
#include <map>
#include <optional>
#include <utility>

#if defined(__unix__)
#include <sys/mman.h>
#endif

namespace nlsq::inline v0 {

namespace {

bool is_basic(Op op) {
  return with_basic(
      op, []<Op>() { return true; }, false);
}

bool has_code(Op op) {
  switch (op) {
    case Op::exp:
    case Op::expm1:
    case Op::log:
    case Op::log1p:
    case Op::pow:
    case Op::sin:
    case Op::cos:
    case Op::tanh:
    case Op::atan:
    case Op::erf:
    case Op::erfc: return true;
    default: return is_basic(op);
  }
}

template <class S, Op op>
WrittenValue basic(const WrittenValue* x) {
  if constexpr (arity(op) == 1) return operate<S, op>(x[0]);
  else if constexpr (arity(op) == 2) return operate<S, op>(x[0], x[1]);
  else return operate<S, op>(x[0], x[1], x[2]);
}

template <class S>
WrittenValue write(Op op, const WrittenValue* x) {
  if (is_basic(op))
    return with_basic(
        op, [x]<Op o>() { return basic<S, o>(x); }, x[0]);
  switch (op) {
    case Op::exp: return own::exp<S>(x[0]);
    case Op::expm1: return own::expm1<S>(x[0]);
    case Op::tanh: return own::tanh<S>(x[0]);
    case Op::atan: return own::atan<S>(x[0]);
    case Op::erf: return own::erf<S>(x[0]);
    case Op::erfc: return own::erfc<S>(x[0]);
    case Op::log1p: S::require(own::has_log1p<S>(x[0])); return own::log1p<S>(x[0]);
    case Op::log: S::require(own::has_log<S>(x[0])); return own::log<S>(own::log_parts<S>(x[0]));
    case Op::pow: S::require(own::has_pow<S>(x[0], x[1])); return own::pow<S>(own::log_parts<S>(x[0]), x[1]);
    case Op::sin: S::require(own::has_sincos<S>(x[0])); return own::sincos<S>(x[0]).sine;
    case Op::cos: S::require(own::has_sincos<S>(x[0])); return own::sincos<S>(x[0]).cosine;
    default: return x[0];  // has_code() accepts no other operation
  }
}

// A run of instructions [first, end) of a program. `coded` is true if they become one piece of code.
struct Run {
  std::size_t first = 0, end = 0;
  bool coded = false;
  std::vector<bool> read_later;  // for each vector, true if its value at the end is used
};

std::vector<Run> runs_of(const TileProgram& program) {
  std::vector<Run> runs;
  const auto& code = program.code;
  for (std::size_t i = 0; i < code.size(); ++i) {
    const bool coded = has_code(code[i].op);
    if (runs.empty() || runs.back().coded != coded) runs.push_back({i, i, coded, {}});
    runs.back().end = i + 1;
  }
  std::vector<bool> read(static_cast<std::size_t>(program.columns + program.registers), false);
  for (const std::int32_t output : program.outputs) read[static_cast<std::size_t>(output)] = true;
  for (std::size_t r = runs.size(); r-- > 0;) {
    runs[r].read_later = read;
    for (std::size_t i = runs[r].end; i-- > runs[r].first;) {
      const std::int32_t operands[] = {code[i].a, code[i].b, code[i].c};
      read[static_cast<std::size_t>(code[i].dst)] = false;
      for (int k = 0; k < arity(code[i].op); ++k) {
        if (operands[k] >= 0) read[static_cast<std::size_t>(operands[k])] = true;
      }
    }
  }
  return runs;
}

// Translates a run into nodes. Returns nothing if a vector would have to be copied to another one, which no
// program needs.
template <class S>
std::optional<VectorCode> written(const TileProgram& program, const Run& run, std::uint64_t f64_columns) {
  VectorCode code;
  std::map<std::int32_t, WrittenValue> held;  // for each vector, the value that it holds now
  for (std::size_t i = run.first; i < run.end; ++i) {
    const Instruction& in = program.code[i];
    const std::int32_t operands[] = {in.a, in.b, in.c};
    WrittenValue x[3];
    for (int k = 0; k < arity(in.op); ++k) {
      const std::int32_t o = operands[k];
      if (const auto found = held.find(o); found != held.end()) {
        x[k] = found->second;
        continue;
      }
      VectorOp from = o >= 0 ? VectorOp::load : VectorOp::uniform;
      if (o >= 0 && o < 64 && f64_columns >> o & 1) from = VectorOp::load_f64;
      const auto number = static_cast<std::uint64_t>(o >= 0 ? o : ~o);
      x[k] = {&code, code.add({.op = from, .f64 = S::f64, .number = number}), 0};
    }
    held[in.dst] = write<S>(in.op, x);
  }
  for (const auto& [vector, value] : held) {
    if (!run.read_later[static_cast<std::size_t>(vector)]) continue;
    if (is_load(code.nodes()[value.node].op)) return std::nullopt;
    S::write(VectorOp::store, value, {}, {}, static_cast<std::uint64_t>(vector));
  }
  return code;
}
template <bool avx512>
std::optional<VectorCode> written(const TileProgram& program, const Run& run, bool f64,
                                  std::uint64_t f64_columns) {
  if (f64) return written<Writer<double, avx512>>(program, run, 0);
  return written<Writer<float, avx512>>(program, run, f64_columns);
}

}  // namespace

ProgramSteps::ProgramSteps(const TileProgram& program, const StepsRequest& request) : request_(request) {
  const auto table_has = request.f64 ? kernels().generated_f64 : kernels().generated_f32;
  if (request.generate && table_has != nullptr && generate(program)) return;
  // Without generated code, the interpreter runs the whole program.
  steps_.clear();
  pieces_.clear();
  f64_columns_ = 0;
  decode(program.code, steps_);
}

// Returns false if some code would be too long, or if the system allows no executable memory.
bool ProgramSteps::generate(const TileProgram& program) {
  constexpr std::size_t kMostRuns = 32;
  const std::vector<Run> runs = runs_of(program);
  if (runs.size() > kMostRuns) return false;
  if (!request_.f64) choose_f64_columns(program);
  std::vector<std::uint8_t> bytes;
  for (const Run& run : runs) {
    const auto instructions = std::span(program.code).subspan(run.first, run.end - run.first);
    if (!run.coded) {
      decode(instructions, steps_);
      continue;
    }
    const VectorSet& set = kernels().lanes_f64 == 8 ? vectors_avx512 : vectors_avx2;
    const auto code = set.avx512 ? written<true>(program, run, request_.f64, f64_columns_)
                                 : written<false>(program, run, request_.f64, f64_columns_);
    if (!code) return false;
    const std::vector<std::uint8_t> part = assembled(*code, set, request_.f64, request_.lanes);
    if (part.empty()) return false;
    auto piece = std::make_unique<Piece>();
    piece->place = bytes.size();
    bytes.insert(bytes.end(), part.begin(), part.end());  // a multiple of 64 bytes
    decode(instructions, piece->steps);
    steps_.push_back({.function = request_.f64 ? kernels().generated_f64 : kernels().generated_f32,
                      .generated = &piece->code});
    pieces_.push_back(std::move(piece));
  }
  memory_ = ExecutableMemory(bytes);
  if (memory_.code() == nullptr) return false;
  for (const auto& piece : pieces_) {
    const std::uint8_t* at = static_cast<const std::uint8_t*>(memory_.code()) + piece->place;
    piece->code = {
        .function = reinterpret_cast<decltype(GeneratedCode::function)>(const_cast<std::uint8_t*>(at)),
        .steps = piece->steps.data(),
        .count = piece->steps.size(),
        .f64_columns = f64_list_.data(),
        .f64_count = f64_list_.size(),
        .vectors = static_cast<std::size_t>(program.columns + program.registers)};
  }
  return true;
}

// Chooses the columns that are read as doubles. Only machine code may read such a column.
void ProgramSteps::choose_f64_columns(const TileProgram& program) {
  if (request_.f64_columns == 0) return;
  if (static_cast<std::size_t>(program.columns + program.registers) > most_vectors_with_f64) return;
  std::vector<bool> as_floats(static_cast<std::size_t>(program.columns + program.registers), false);
  for (const Instruction& in : program.code) {
    const std::int32_t operands[] = {in.a, in.b, in.c};
    for (int k = 0; k < arity(in.op); ++k) {
      if (operands[k] >= 0 && !has_code(in.op)) as_floats[static_cast<std::size_t>(operands[k])] = true;
    }
  }
  for (const std::int32_t output : program.outputs) as_floats[static_cast<std::size_t>(output)] = true;
  for (std::int32_t c = 0; c < program.columns && f64_list_.size() < most_f64_columns; ++c) {
    const auto column = static_cast<std::size_t>(c);
    if (as_floats[column] || !program.column_used[column] || !(request_.f64_columns >> c & 1)) continue;
    f64_list_.push_back(c);
    f64_columns_ |= std::uint64_t(1) << c;
  }
}

void ProgramSteps::decode(std::span<const Instruction> code, std::vector<KernelStep>& out) const {
  const std::size_t before = out.size();
  out.resize(before + code.size());
  const auto decoder = request_.f64 ? kernels().f64.decode : kernels().f32.decode;
  out.resize(before + decoder(code.data(), code.size(), out.data() + before));
}

void StepsCache::add_evaluated(int number, bool f64, std::size_t rows) {
  const std::lock_guard lock(mutex_);
  evaluated_[number][f64] += rows;
}

std::shared_ptr<const ProgramSteps> StepsCache::get(int number, const TileProgram& program,
                                                    StepsRequest request, std::size_t rows) {
  const std::lock_guard lock(mutex_);
  request.generate = repays_code(evaluated_[number][request.f64]) || repays_code(rows);
  if (!request.generate) request.f64_columns = 0;
  for (const Entry& entry : entries_) {
    if (entry.number == number && entry.request == request && entry.table == &kernels()) return entry.steps;
  }
  entries_.push_back({number, request, &kernels(), std::make_shared<const ProgramSteps>(program, request)});
  return entries_.back().steps;
}

// Makes executable memory by mmap and mprotect.
ExecutableMemory::ExecutableMemory(std::span<const std::uint8_t> code) noexcept {
#if defined(__unix__)
  void* memory = mmap(nullptr, code.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  std::memcpy(memory, code.data(), code.size());
  if (mprotect(memory, code.size(), PROT_READ | PROT_EXEC) != 0) {
    munmap(memory, code.size());
    return;
  }
  memory_ = memory;
  size_ = code.size();
#else
  (void)code;
#endif
}

ExecutableMemory::~ExecutableMemory() {
#if defined(__unix__)
  if (memory_ != nullptr) munmap(memory_, size_);
#endif
}

ExecutableMemory::ExecutableMemory(ExecutableMemory&& other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)), size_(std::exchange(other.size_, 0)) {}

ExecutableMemory& ExecutableMemory::operator=(ExecutableMemory&& other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(size_, other.size_);
  return *this;
}

}  // namespace nlsq::inline v0
