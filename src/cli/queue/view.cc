// smartmig view: the page in a browser over a recorded world. Serves on a loopback address until it is interrupted;
// nothing can be changed there, and there is nothing to sign in to.
#include <fmt/format.h>
#include <sys/stat.h>

#include <semaphore>

#include "base/errors.h"
#include "bound/certificate_make.h"
#include "bound/lagrangian_problem.h"
#include "cli/command.h"
#include "cli/on_interrupt.h"
#include "cli/verbs.h"
#include "http/http_server.h"
#include "http/page.h"
#include "report/recorded_world.h"

namespace smartmig::cli {
namespace {

class RecordedHandler final : public HttpHandler {
 public:
  explicit RecordedHandler(const RecordedWorld& world) : world_(world) {}
  HttpReply handle(const HttpRequest& request) override {
    HttpReply reply;
    if (request.path == "/v1/world") {
      reply.body = world_.world;
    } else if (request.path == "/v1/journal") {
      reply.type = "application/x-ndjson";
      reply.body = world_.journal;
    } else if (request.path == "/v1/series") {
      reply.body = world_.series;
    } else if (request.path == "/v1/summary") {
      reply.body = world_.summary;
    } else {
      return error_reply(not_found("{} is not in a recorded run", request.path));
    }
    return reply;
  }

 private:
  const RecordedWorld& world_;
};

}  // namespace

int run_view(const Arguments& arguments) {
  std::string path;
  std::int64_t port = 7481, which = 0;
  bool bound = false;
  Command command(
      "view", "RUN_DIR|JOURNAL",
      "Shows a finished run or a daemon's journal in a browser, on the page of serve --http with a slider over time.\nIt serves the page on 127.0.0.1 until you interrupt it; nothing leaves this machine.",
      "smartmig sim -w paper:20x -o run1 && smartmig view run1");
  command.positional(path);
  command.option("--port", port, "PORT", "port of 127.0.0.1; 0: any free port");
  command.option("--run", which, "N",
                 "for a daemon's journal: the run after its Nth start; 0: all runs on one time axis");
  command.flag("--bound", bound, "prove lower bounds for the run's jobs first, and show the gaps");
  if (const auto end = command.ends(arguments)) return *end;
  if (port < 0 || port > 65535) return usage_error(invalid("--port {}: 0 to 65535", port));
  if (which < 0) return usage_error(invalid("--run {}: give 1 for the first run, 0 for all", which));
  if (!has_page()) return failure(unsupported("{}", kNoPage));

  struct stat status {};
  if (::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) path += "/journal.jsonl";
  RecordedOptions options;
  options.run = std::size_t(which);
  if (bound)
    options.bounds = [](const RunRecord& run) -> Result<ReportExtras> {
      SMARTMIG_TRY(const ProvenBounds proven,
                   proven_bounds(*run.platform, *run.jobs, run.summary.a, {1, {}}, bound_world(run.cost)));
      return ReportExtras{kilowatt_hours(proven.energy_wmin * 60), proven.et(run.summary.a)};
    };
  const auto world = recorded_world(path, options);
  if (!world) return failure(world.error());
  RecordedHandler recorded(*world);
  PageHandler page(recorded);
  HttpServerOptions listen;
  listen.address = "127.0.0.1";
  listen.port = int(port);
  listen.plain = listen.page = listen.open_reading = true;
  std::binary_semaphore over(0);
  const OnInterrupt interrupt([&] { over.release(); });
  const auto server = HttpServer::start(page, listen);
  if (!server) return failure(server.error());
  fmt::print(stderr, "smartmig: {} at http://127.0.0.1:{}/ (press Ctrl-C to stop)\n", path, (*server)->port());
  over.acquire();
  return 0;
}

}  // namespace smartmig::cli
