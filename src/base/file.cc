#include "base/file.h"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <vector>

namespace smartmig {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kMaxLine = 16u << 20;
constexpr std::size_t kMaxFile = 4ull << 30;

struct GzClose {
  void operator()(gzFile_s* file) const { gzclose_r(file); }
};
using GzFile = std::unique_ptr<gzFile_s, GzClose>;

Result<GzFile> open_input(const std::string& path) {
  if (path == "-") return GzFile(gzdopen(dup(STDIN_FILENO), "rb"));
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return io_error("{} is a directory, not a file", path);
  GzFile file(gzopen(path.c_str(), "rb"));
  if (!file) return io_error("cannot open {}: {}", path, std::strerror(errno));
  gzbuffer(file.get(), 1 << 17);
  return file;
}

// Returns the number of bytes read, 0 at the end. A gzip stream that stops before its trailer is an error, not an end.
Result<std::size_t> read_some(gzFile_s* file, const std::string& path, char* to, unsigned room) {
  const int got = gzread(file, to, room);
  if (got < 0 || (got == 0 && !gzeof(file)) || (unsigned(got) < room && !gzdirect(file))) {
    int code = Z_OK;
    const char* message = gzerror(file, &code);
    if (code == Z_BUF_ERROR) return io_error("{} is a truncated gzip file; download it again", path);
    if (code != Z_OK && code != Z_STREAM_END)
      return io_error("cannot read {}: {}", path, code == Z_ERRNO ? std::strerror(errno) : message);
  }
  return std::size_t(got < 0 ? 0 : got);
}

std::string temporary_sibling(const std::string& path) {
  std::string base = path;
  while (base.size() > 1 && base.back() == '/') base.pop_back();
  return fmt::format("{}.tmp-{}", base, getpid());
}

Result<Ok> write_plain(const std::string& path, std::string_view text) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) return io_error("cannot write {}: {}", path, std::strerror(errno));
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      const int code = errno;
      ::close(fd);
      return io_error("cannot write {}: {}", path, std::strerror(code));
    }
    text.remove_prefix(std::size_t(n));
  }
  if (::close(fd) != 0) return io_error("cannot write {}: {}", path, std::strerror(errno));
  return Ok{};
}

}  // namespace

Result<std::string> read_file(const std::string& path) {
  SMARTMIG_TRY(GzFile file, open_input(path));
  std::string text;
  std::vector<char> buffer(1 << 17);
  for (;;) {
    SMARTMIG_TRY(const std::size_t got, read_some(file.get(), path, buffer.data(), unsigned(buffer.size())));
    if (got == 0) return text;
    if (text.size() + got > kMaxFile) return io_error("{} is larger than 4 GiB unpacked", path);
    text.append(buffer.data(), got);
  }
}

struct LineReader::Stream {
  GzFile file;               // null when reading from text
  std::string_view text;     // text not yet read, when reading from text
  std::vector<char> buffer;  // [begin, end) holds the unread bytes
  std::size_t begin = 0, end = 0;
  bool finished = false;
};

LineReader::LineReader(std::string name, std::unique_ptr<Stream> stream)
    : name_(std::move(name)), stream_(std::move(stream)) {}
LineReader::LineReader(LineReader&&) noexcept = default;
LineReader& LineReader::operator=(LineReader&&) noexcept = default;
LineReader::~LineReader() = default;

Result<LineReader> LineReader::open(const std::string& path) {
  SMARTMIG_TRY(GzFile file, open_input(path));
  auto stream = std::make_unique<Stream>();
  stream->file = std::move(file);
  stream->buffer.resize(1 << 17);
  return LineReader(path, std::move(stream));
}

LineReader LineReader::over(std::string name, std::string_view text) {
  auto stream = std::make_unique<Stream>();
  stream->text = text;
  return LineReader(std::move(name), std::move(stream));
}

Result<std::optional<std::string_view>> LineReader::next() {
  Stream& s = *stream_;
  const auto deliver = [&](std::string_view line) {
    ++line_;
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    return std::optional<std::string_view>(line);
  };
  if (!s.file) {
    if (s.text.empty()) return std::optional<std::string_view>();
    const auto at = s.text.find('\n');
    const std::string_view line = s.text.substr(0, at);
    s.text.remove_prefix(at == s.text.npos ? s.text.size() : at + 1);
    return deliver(line);
  }
  for (;;) {
    const char* from = s.buffer.data() + s.begin;
    if (const void* hit = std::memchr(from, '\n', s.end - s.begin)) {
      const std::string_view line(from, std::size_t(static_cast<const char*>(hit) - from));
      s.begin += line.size() + 1;
      return deliver(line);
    }
    if (s.finished) {
      if (s.begin == s.end) return std::optional<std::string_view>();
      const std::string_view line(from, s.end - s.begin);
      s.begin = s.end;
      return deliver(line);
    }
    std::memmove(s.buffer.data(), from, s.end - s.begin);
    s.end -= s.begin;
    s.begin = 0;
    if (s.end == s.buffer.size()) {
      if (s.end >= kMaxLine) return invalid("{} line {}: longer than 16 MiB", name_, line_ + 1);
      s.buffer.resize(s.buffer.size() * 2);
    }
    SMARTMIG_TRY(const std::size_t got,
                 read_some(s.file.get(), name_, s.buffer.data() + s.end, unsigned(s.buffer.size() - s.end)));
    s.end += got;
    s.finished = got == 0;
  }
}

Result<Ok> write_file(const std::string& path, std::string_view text) {
  const std::string temporary = temporary_sibling(path);
  if (auto wrote = write_plain(temporary, text); !wrote) {
    std::error_code ignored;
    fs::remove(temporary, ignored);
    return io_error("cannot write {}: {}", path, wrote.error().what.substr(wrote.error().what.rfind(": ") + 2));
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    const int code = errno;
    ::unlink(temporary.c_str());
    return io_error("cannot write {}: {}", path, std::strerror(code));
  }
  return Ok{};
}

Result<OutputDir> OutputDir::create(const std::string& path, bool replace_existing) {
  std::error_code error;
  if (fs::exists(path, error) && !replace_existing)
    return io_error("{} exists; choose another directory or add --force", path);
  const fs::path parent = fs::path(temporary_sibling(path)).parent_path();
  if (!parent.empty()) fs::create_directories(parent, error);
  const std::string temporary = temporary_sibling(path);
  fs::remove_all(temporary, error);
  if (!fs::create_directory(temporary, error) || error) return io_error("cannot create {}: {}", path, error.message());
  return OutputDir(path, temporary, replace_existing);
}

OutputDir::OutputDir(OutputDir&& other) noexcept
    : path_(std::move(other.path_)), temporary_(std::exchange(other.temporary_, {})), replace_(other.replace_) {}

OutputDir::~OutputDir() {
  std::error_code ignored;
  if (!temporary_.empty()) fs::remove_all(temporary_, ignored);
}

Result<Ok> OutputDir::add(const std::string& name, std::string_view text) {
  return write_plain(temporary_ + "/" + name, text);
}

Result<Ok> OutputDir::commit() {
  std::error_code error;
  if (replace_ && fs::exists(path_, error)) {
    const std::string old = temporary_ + "-old";
    fs::rename(path_, old, error);
    if (!error) {
      fs::rename(temporary_, path_, error);
      if (!error) {
        temporary_.clear();
        fs::remove_all(old, error);
        return Ok{};
      }
      std::error_code ignored;
      fs::rename(old, path_, ignored);
    }
    return io_error("cannot replace {}: {}", path_, error.message());
  }
  fs::rename(temporary_, path_, error);
  if (error) return io_error("cannot create {}: {}", path_, error.message());
  temporary_.clear();
  return Ok{};
}

}  // namespace smartmig
