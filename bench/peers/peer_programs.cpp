// Implements the peers SciPy and gnuplot: writes their scripts and parses their output.
#include "peers/peer_programs.hpp"

#include "child_process.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace bench {

namespace {

// Holds a curve as NumPy and gnuplot code.
struct Written {
  std::string_view model, parameters, value, jacobian, gnuplot;
};

constexpr Written kWritten[] = {
    {"exp", "a, b, c", "a*np.exp(-b*x) + c", "e = np.exp(-b*x); J[:, 0] = e; J[:, 1] = -a*x*e; J[:, 2] = 1",
     "a*exp(-b*x) + c"},
    {"gaussian", "h, mu, sigma, c", "h*np.exp(-(x - mu)**2/(2*sigma**2)) + c",
     "z = (x - mu)/sigma; e = np.exp(-0.5*z*z); J[:, 0] = e; J[:, 1] = h*e*z/sigma; J[:, 2] = J[:, 1]*z; "
     "J[:, 3] = 1",
     "h*exp(-(x - mu)**2/(2*sigma**2)) + c"},
    {"biexp", "a1, b1, a2, b2, c", "a1*np.exp(-b1*x) + a2*np.exp(-b2*x) + c",
     "J[:, 0] = np.exp(-b1*x); J[:, 1] = -a1*x*J[:, 0]; J[:, 2] = np.exp(-b2*x); J[:, 3] = -a2*x*J[:, 2]; "
     "J[:, 4] = 1",
     "a1*exp(-b1*x) + a2*exp(-b2*x) + c"},
    {"logistic", "L, k, x0, c", "L/(1 + np.exp(-k*(x - x0))) + c",
     "e = np.exp(-k*(x - x0)); s = 1/(1 + e); d = L*e*s*s; J[:, 0] = s; J[:, 1] = d*(x - x0); J[:, 2] = "
     "-d*k; "
     "J[:, 3] = 1",
     "L/(1 + exp(-k*(x - x0))) + c"},
    {"sine", "a, f, phi, c", "a*np.sin(2*np.pi*f*x + phi) + c",
     "w = 2*np.pi*x; t = w*f + phi; J[:, 0] = np.sin(t); J[:, 2] = a*np.cos(t); J[:, 1] = w*J[:, 2]; J[:, 3] "
     "= 1",
     "a*sin(2*pi*f*x + phi) + c"},
    {"power", "a, b", "a*x**b", "J[:, 0] = x**b; J[:, 1] = a*J[:, 0]*np.log(x)", "a*x**b"},
    {"rational22", "a0, a1, a2, b1, b2", "(a0 + a1*x + a2*x**2)/(1 + b1*x + b2*x**2)",
     "q = 1/(1 + x*(b1 + b2*x)); g = (a0 + x*(a1 + a2*x))*q; J[:, 0] = q; J[:, 1] = x*q; J[:, 2] = x*J[:, "
     "1]; "
     "J[:, 3] = -g*J[:, 1]; J[:, 4] = -g*J[:, 2]",
     "(a0 + a1*x + a2*x**2)/(1 + b1*x + b2*x**2)"},
};

const Written& written(const CurveCase& c) {
  for (const Written& w : kWritten)
    if (w.model == c.model) return w;
  throw std::runtime_error(fmt::format("{} is not written for NumPy and gnuplot", c.model));
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

const std::string kImports =
    "import numpy, scipy.optimize; print('SciPy', scipy.__version__, '/ NumPy', numpy.__version__)";

// Returns the numbers in a text, with any separators.
std::vector<double> numbers(const std::string& text) {
  std::istringstream stream(text);
  std::vector<double> values;
  for (std::string word; stream >> word;) values.push_back(std::strtod(word.c_str(), nullptr));
  return values;
}

void write_array(const std::string& path, const std::vector<double>& values) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(values.data()),
             static_cast<std::streamsize>(values.size() * sizeof(double)));
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

std::string model_lines(const Written& w, bool by_hand) {
  std::string text = fmt::format("def f(x, {0}): return {1}\n", w.parameters, w.value);
  text += by_hand
              ? fmt::format("def jac(x, {0}):\n  J = np.empty((x.size, {1}), order='F'); {2}\n  return J\n",
                            w.parameters, 1 + std::count(w.parameters.begin(), w.parameters.end(), ','),
                            w.jacobian)
              : std::string("jac = None\n");
  return text;
}

}  // namespace

const std::string& python_with_scipy() {
  static const std::string found = [] {
    for (const char* python : {"python3", "/usr/bin/python3"}) {
      // Error messages of a Python without scipy are discarded.
      if (run_program({"sh", "-c", "exec \"$0\" -c \"$1\" 2>/dev/null", python, kImports}).status == 0)
        return std::string(python);
    }
    return std::string();
  }();
  return found;
}

bool has_gnuplot() { return !detail::gnuplot_name().empty(); }

std::string detail::scipy_name() {
  const std::string& python = python_with_scipy();
  return python.empty() ? "" : first_line(run_program({python, "-c", kImports}).text);
}

std::string detail::gnuplot_name() {
  static const std::string name = [] {
    const Finished finished = run_program({"gnuplot", "--version"});
    return finished.status == 0 ? first_line(finished.text) : std::string();
  }();
  return name;
}

std::optional<Contender> scipy_curve_fit(const CurveCase& c, const Data& data, bool by_hand) {
  if (python_with_scipy().empty()) return std::nullopt;
  const Written& w = written(c);
  const std::string script = "import sys, time\nimport numpy as np\nfrom scipy.optimize import curve_fit\n" +
                             model_lines(w, by_hand) +
                             fmt::format(
                                 "x = np.fromfile(sys.argv[1]); y = np.fromfile(sys.argv[2])\n"
                                 "print('ready', flush=True)\n"
                                 "for line in sys.stdin:\n"
                                 "  wall, cpu = time.perf_counter(), time.process_time()\n"
                                 "  p, covariance = curve_fit(f, x, y, p0=[{}], jac=jac)\n"
                                 "  print(time.perf_counter() - wall, time.process_time() - cpu, "
                                 "*(float(v).hex() for v in p), flush=True)\n",
                                 fmt::join(c.start, ", "));
  const TemporaryDirectory directory;  // read once
  const std::string x = directory.file("x.f64"), y = directory.file("y.f64");
  write_array(x, data.x[0]);
  write_array(y, data.y);
  const auto worker =
      std::make_shared<Worker>(std::vector<std::string>{python_with_scipy(), "-c", script, x, y});
  worker->read_line();
  return worker_contender(by_hand ? "SciPy curve_fit, jac by hand" : "SciPy curve_fit", worker);
}

std::optional<Contender> scipy_script(const CurveCase& c, const std::string& csv) {
  if (python_with_scipy().empty()) return std::nullopt;
  const Written& w = written(c);
  const std::string script = "import numpy as np\nfrom scipy.optimize import curve_fit\n" +
                             model_lines(w, false) +
                             fmt::format(
                                 "x, y = np.loadtxt('{}', delimiter=',', skiprows=1, unpack=True)\n"
                                 "p, covariance = curve_fit(f, x, y, p0=[{}])\n"
                                 "print(*(float(v).hex() for v in p))\n"
                                 "print(np.sqrt(np.diag(covariance)))\n",
                                 csv, fmt::join(c.start, ", "));
  return program_contender("SciPy script", {python_with_scipy(), "-c", script},
                           [](const std::string& text) { return numbers(first_line(text)); });
}

std::optional<Contender> gnuplot_script(const CurveCase& c, const std::string& csv) {
  if (!has_gnuplot()) return std::nullopt;
  const Written& w = written(c);
  std::string script = fmt::format("set datafile separator ','; set fit quiet nolog; F(x) = {}; ", w.gnuplot);
  std::string values;
  std::istringstream names{std::string(w.parameters)};
  for (const double start : c.start) {
    std::string name;
    std::getline(names >> std::ws, name, ',');
    script += fmt::format("{} = {:.17g}; ", name, start);
    values += fmt::format("{}sprintf('%.17g', {})", values.empty() ? "" : ", ", name);
  }
  // The first line of the file is the header.
  script += fmt::format("set print '-'; fit F(x) '{}' skip 1 using 1:2 via {}; print {}", csv, w.parameters,
                        values);
  return program_contender("gnuplot fit", {"gnuplot", "-e", script}, numbers);
}

}  // namespace bench
