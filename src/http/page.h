// The page in a browser: a few files that the build made from web/ and put into the program (cmake/web.cmake). They
// hold no data; what they show they ask of the API. A program built without them says how to get them.
#pragma once
#include <span>
#include <string_view>

#include "http/http_types.h"

namespace smartmig {

struct PageFile {
  const char* name;  // "index.html"
  const char* begin;
  const char* end;
};
std::span<const PageFile> page_files();  // made by the build; empty without the page

bool has_page();
inline constexpr std::string_view kNoPage =
    "this program was built without the page; in a checkout, ./smartmig view and ./smartmig "
    "serve --http build it (with nodejs and npm); otherwise configure with -DSMARTMIG_WEB=ON";

// "/", "/index.html", "/job/12" and everything below "/page/": the files that anybody may read.
bool is_page_path(std::string_view path);

// Answers for the page's files and hands everything else on. REQUIRES: `rest` outlives it.
class PageHandler final : public HttpHandler {
 public:
  explicit PageHandler(HttpHandler& rest) : rest_(rest) {}
  HttpReply handle(const HttpRequest& request) override;
  bool is_slow(const HttpRequest& request) const override { return rest_.is_slow(request); }

 private:
  HttpHandler& rest_;
};

}  // namespace smartmig
