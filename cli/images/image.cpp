// Reads an image: finds the axis of the points, and checks that x, sigma and mask agree with the array.
#include "images/image.hpp"

#include "errors.hpp"
#include "prediction/prediction_arguments.hpp"
#include "prediction/prediction_points.hpp"
#include "table/numbers/number.hpp"
#include "table/percent_signs.hpp"
#include "table/source/utf8.hpp"
#include "table/table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace nlsq::cli {

namespace {

constexpr std::size_t kDimensions = 3;

OpenedSource open_input(const std::string& path, Image& image) {
  OpenedSource source = open_source(path, true);
  image.files.emplace_back(path, source.checksum);
  return source;
}

std::unique_ptr<NpyArray> open_array(const std::string& path, const char* what, Image& image) {
  OpenedSource source = open_input(path, image);
  if (!source.npy)
    throw BadData(fmt::format("{}: {} must be a .npy file: save it with numpy.save", source.name, what));
  return std::make_unique<NpyArray>(source, kDimensions);
}

// Takes x from A:B:N or from the columns of a file. Without --x, find_axis() numbers the points.
void read_x(const Arguments& arguments, Image& image) {
  const std::string& text = arguments.selection.x;
  if (text.empty()) return;
  if (const auto grid = grid_of(text, "--x")) {
    if (grid->from.moment) throw UsageError(fmt::format("--x {}: give numbers, not dates", text));
    image.x.push_back(even_points(grid->from.number, grid->to.number, grid->count));
    image.x_names = {"x"};
    image.x_text = text;
    return;
  }
  CsvOptions csv = arguments.csv;
  csv.threads = arguments.threads;
  OpenedSource source = open_input(text, image);
  if (source.npy || source.npz) refuse_options_of_text(csv, "--x " + text);
  const std::unique_ptr<Table> table = open_table(std::move(source), csv);
  std::vector<std::size_t> columns(table->shape().columns());
  std::iota(columns.begin(), columns.end(), std::size_t{0});
  image.x_names = table->shape().names;
  const TableColumns read = table->read(columns);
  refuse_mixed_percents(read, table->shape(), columns);
  for (std::size_t k = 0; k < columns.size(); ++k) {
    std::vector<double>& values = image.x.emplace_back(read.rows);
    read.columns[k].read(0, read.rows, values.data());
    for (std::size_t i = 0; i < read.rows; ++i) {
      if (!std::isfinite(values[i]))
        throw BadData(fmt::format("{}: --x: x is {} here; correct it", read.place(i), values[i]));
    }
    if (image.x_names[k].empty()) image.x_names[k] = columns.size() == 1 ? "x" : fmt::format("x{}", k + 1);
  }
  image.x_text = fmt::format("{} values of {}", read.rows, printable(table->name(), 200));
}

std::size_t named_axis(int axis, const std::vector<std::size_t>& shape, const std::string& source) {
  const int dimensions = static_cast<int>(shape.size());
  if (axis < -dimensions || axis >= dimensions) {
    throw UsageError(fmt::format("--axis {}: {} has {} axes ({}): give one from {} to {}", axis, source,
                                 dimensions, shape_text(shape), -dimensions, dimensions - 1));
  }
  return static_cast<std::size_t>(axis < 0 ? axis + dimensions : axis);
}

// Returns the axis that is as long as x.
std::size_t axis_of_x(const Image& image, const std::vector<std::size_t>& shape) {
  std::vector<std::size_t> axes;
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (shape[d] == image.x[0].size()) axes.push_back(d);
  if (axes.size() == 1) return axes[0];
  if (axes.empty()) {
    throw BadData(fmt::format("{}: the array is {}, and x has {} values ({}): no axis has that length",
                              image.source, shape_text(shape), image.x[0].size(), image.x_text));
  }
  throw UsageError(
      fmt::format("{}: the array is {}, and x has {} values, as several axes have: say which one "
                  "has the points of a pixel with --axis {}",
                  image.source, shape_text(shape), image.x[0].size(), fmt::join(axes, " or --axis ")));
}

void find_axis(const ImageArguments& arguments, Image& image) {
  const std::vector<std::size_t>& shape = image.data->header().shape;
  if (shape.size() < 2) {
    throw BadData(
        fmt::format("{}: --maps: the array has 1 dimension; an image has 3, or 2 for a row of pixels; "
                    "leave --maps out for one fit",
                    image.source));
  }
  image.axis = shape.size() - 1;
  image.axis_reason = "the last one, because neither --axis nor --x says which";
  if (arguments.axis) {
    image.axis = named_axis(*arguments.axis, shape, image.source);
    image.axis_reason = "from --axis";
  } else if (!image.x.empty()) {
    image.axis = axis_of_x(image, shape);
    image.axis_reason = "the one as long as x";
  }
  image.points = shape[image.axis];
  if (image.x.empty()) {
    image.x.emplace_back(image.points);
    std::iota(image.x[0].begin(), image.x[0].end(), 1.0);
    image.x_names = {"x"};
    image.x_text = fmt::format("1 to {}, the number of the point, because --x is not given", image.points);
  } else if (image.x[0].size() != image.points) {
    throw BadData(fmt::format("{}: the array is {}, so axis {} has {} points, and x has {} values ({})",
                              image.source, shape_text(shape), image.axis, image.points, image.x[0].size(),
                              image.x_text));
  }
  image.shape = shape;
  image.shape.erase(image.shape.begin() + static_cast<std::ptrdiff_t>(image.axis));
  image.width = image.shape.back();
  image.height = image.shape.size() == 2 ? image.shape[0] : 1;
  if (image.pixels() > std::numeric_limits<std::uint32_t>::max())
    throw BadData(fmt::format("{}: the image has {} pixels; cut it into parts of less than 2³²", image.source,
                              image.pixels()));
}

void check_shape(const NpyArray& array, const std::vector<std::size_t>& wanted, const std::string& file,
                 const char* what, const Image& image) {
  const std::vector<std::size_t>& shape = array.header().shape;
  if (shape == wanted) return;
  throw BadData(
      fmt::format("{}: {} has the shape {}, and {} needs {}: its array is {}, with the points along axis {}",
                  printable(file, 200), what, shape_text(shape), image.source, shape_text(wanted),
                  shape_text(image.data->header().shape), image.axis));
}

void read_sigma(const std::string& text, Image& image) {
  if (text.empty()) return;
  image.sigma_text = printable(text, 200);
  double value = 0;
  if (parse_number(trim_blanks(text), NumberFormat{}, value) == NumberStatus::ok) {
    if (!(value > 0 && std::isfinite(value)))
      throw UsageError(fmt::format("--sigma {}: a standard deviation must be positive", text));
    image.sigma.assign(image.points, value);
    return;
  }
  std::unique_ptr<NpyArray> array = open_array(text, "--sigma", image);
  if (array->header().shape.size() > 1) {
    check_shape(*array, image.data->header().shape, text, "--sigma", image);
    image.sigmas = std::move(array);
    return;
  }
  check_shape(*array, {image.points}, text, "--sigma of one dimension, for each point,", image);
  image.sigma.resize(image.points);
  array->read(0, 1, image.points, image.sigma.data());
  for (std::size_t i = 0; i < image.points; ++i) {
    if (image.sigma[i] > 0 && std::isfinite(image.sigma[i])) continue;
    throw BadData(fmt::format("{}[{}]: --sigma is {} here; standard deviations must be positive",
                              image.sigma_text, i, image.sigma[i]));
  }
}

void read_mask(const std::string& file, Image& image) {
  if (file.empty()) return;
  const std::unique_ptr<NpyArray> array = open_array(file, "--mask", image);
  check_shape(*array, image.shape, file, "--mask", image);
  const NpyHeader& header = array->header();
  image.fitted.resize(image.pixels());
  std::vector<double> row(image.width);
  bool any = false;
  for (std::size_t i = 0; i < image.height; ++i) {
    const bool columns_first = header.fortran && header.shape.size() == 2;
    array->read(columns_first ? i : i * image.width, columns_first ? image.height : 1, image.width,
                row.data());
    for (std::size_t j = 0; j < image.width; ++j) {
      const std::size_t pixel = i * image.width + j;
      if (row[j] != 0 && row[j] != 1) {
        throw BadData(
            fmt::format("{}{}: --mask is {} here; it must be true or 1 where a pixel is fitted, and "
                        "false or 0 elsewhere",
                        printable(file, 200), image.place(pixel), row[j]));
      }
      image.fitted[pixel] = row[j] != 0;
      any = any || row[j] != 0;
    }
  }
  if (!any)
    throw BadData(fmt::format("{}: --mask is 0 everywhere: no pixel is left to fit", printable(file, 200)));
}

}  // namespace

Columns Image::predictors() const {
  std::vector<Column> columns;
  for (const std::vector<double>& column : x) columns.emplace_back(column);
  return Columns(std::move(columns));
}

void Image::read(const NpyArray& array, std::span<const std::uint32_t> pixels, double* out) const {
  const NpyHeader& header = array.header();
  const std::size_t dimensions = header.shape.size();
  std::vector<std::size_t> strides(dimensions, 1);
  for (std::size_t k = 1; k < dimensions; ++k) {
    if (header.fortran) strides[k] = strides[k - 1] * header.shape[k - 1];
    else strides[dimensions - 1 - k] = strides[dimensions - k] * header.shape[dimensions - k];
  }
  const std::size_t along = strides[axis];
  strides.erase(strides.begin() + static_cast<std::ptrdiff_t>(axis));
  const std::size_t of_column = strides.back(), of_row = dimensions == 3 ? strides.front() : 0;
  // Several pixels are read at once. If their points lie far apart, this reads each cache line only once.
  constexpr std::size_t kPointsAtOnce = 8;
  for (std::size_t first = 0; first < points; first += kPointsAtOnce) {
    const std::size_t count = along == 1 ? points : std::min(kPointsAtOnce, points - first);
    for (std::size_t i = 0; i < pixels.size(); ++i) {
      const std::size_t start = pixels[i] / width * of_row + pixels[i] % width * of_column;
      array.read(start + first * along, along, count, out + i * points + first);
    }
    if (along == 1) return;
  }
}

std::string Image::place(std::size_t pixel) const {
  return fmt::format("[{}]", fmt::join(index(pixel), ", "));
}

std::vector<std::size_t> Image::index(std::size_t pixel) const {
  if (shape.size() == 2) return {pixel / width, pixel % width};
  return {pixel};
}

std::string shape_text(const std::vector<std::size_t>& shape) {
  return fmt::format("{}", fmt::join(shape, " × "));
}

Image read_image(const Arguments& arguments) {
  Image image;
  read_x(arguments, image);
  image.data = open_array(arguments.files[0], "an image", image);
  image.source = arguments.files[0] == "-" ? "<stdin>" : arguments.files[0];
  find_axis(arguments.image, image);
  read_sigma(arguments.selection.sigma, image);
  read_mask(arguments.image.mask, image);
  return image;
}

FitData fit_data_of(const Image& image) {
  FitData data;
  data.source = image.source;
  data.shape.names = image.x_names;
  data.shape.names.emplace_back("y");
  for (std::size_t k = 0; k < image.x_names.size(); ++k)
    data.x.push_back({.text = image.x_names[k], .columns = {k}, .texts = {}, .plain = true, .formula = {}});
  data.y_expression = {
      .text = "y", .columns = {image.x_names.size()}, .texts = {}, .plain = true, .formula = {}};
  return data;
}

}  // namespace nlsq::cli
