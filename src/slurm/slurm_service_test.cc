#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "cluster/cluster_service.h"
#include "http/api.h"
#include "http/openapi.h"
#include "slurm/slurm_workload.h"
#include "support/openapi_check.h"
#include "support/slurm_cluster.h"

namespace smartmig {
namespace {

using std::chrono::seconds;

// A controller on a made-up cluster, whose steps answer what another thread asks of its API.
class Asked {
 public:
  explicit Asked(FakeSlurm& slurm)
      : slurm_(slurm),
        past_(slurm.clock.now()),
        workload_(slurm, slurm.clock, {}),
        service_(slurm.clock, past_, kSlurmWords, "1.2.3"),
        api_(service_, "1.2.3") {
    reopen();
  }
  void reopen() {
    controller_.reset();
    ClusterController::Options options;
    options.state_dir = dir_.path();
    options.name = "test";
    options.epoch = ++epoch_;
    options.settings.policy.gather = Time{0};
    options.past = &past_;
    options.attend = [this](ClusterController& controller) { service_.serve(&controller); };
    controller_ = std::move(*ClusterController::open(workload_, slurm_, slurm_.clock, std::move(options)));
  }
  void second() {
    slurm_.tick(seconds(1));
    const auto nodes = slurm_.nodes();
    for (const SlurmNode& node : *nodes) slurm_.agent(node.name).sample();
    for (int i = 0; i < 2; ++i) {
      controller_->step();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  HttpReply ask(const std::string& path, const std::string& method = "GET", const std::string& body = "") {
    HttpRequest request;
    request.method = method;
    const auto question = path.find('?');
    request.path = path.substr(0, question);
    if (question != path.npos) {
      const std::string pair = path.substr(question + 1);
      request.query.emplace_back(pair.substr(0, pair.find('=')), pair.substr(pair.find('=') + 1));
    }
    request.body = body;
    HttpReply reply;
    std::atomic<bool> done = false;
    std::thread client([&] {
      reply = api_.handle(request);
      done = true;
    });
    while (!done) {
      service_.serve(controller_.get());
      std::this_thread::yield();
    }
    client.join();
    document.reply(method, request.path, reply);
    return reply;
  }
  Json json(const std::string& path) {
    const HttpReply reply = ask(path);
    EXPECT_EQ(reply.status, 200) << path << ": " << reply.body;
    return Json::parse(reply.body);
  }
  void kill() { controller_.reset(); }
  OpenapiCheck document;  // of every reply
  ClusterPast& past() { return past_; }
  ClusterService& service() { return service_; }

 private:
  FakeSlurm& slurm_;
  TempDir dir_;
  ClusterPast past_;
  SlurmWorkload workload_;
  ClusterService service_;
  Api api_;
  std::uint64_t epoch_ = 0;
  std::unique_ptr<ClusterController> controller_;
};

TEST(SlurmPageId, IsExactInABrowserAndComesBack) {
  std::set<std::uint64_t> seen;
  for (const ClusterJobName name :
       {ClusterJobName{1, -1}, {1, 0}, {1, 1}, {2, 0}, {0xFFFFFFFF, -1}, {0xFFFFFFFF, 999'999}}) {
    const QueueId id = queue_id(name);
    EXPECT_LT(number(page_id(id)), std::uint64_t(1) << 53);
    EXPECT_EQ(std::uint64_t(double(number(page_id(id)))), number(page_id(id)));
    EXPECT_EQ(from_page_id(page_id(id)), id);
    EXPECT_TRUE(seen.insert(number(page_id(id))).second);
  }
}

TEST(SlurmServiceProcess, ShowsJobsGpusAndFiguresAsTheDaemonDoes) {
  FakeSlurm slurm(2, 2);
  for (std::uint32_t id = 1; id <= 3; ++id) slurm.submit(id, 18'000, seconds(30));
  slurm.submit(9, 4'000, seconds(100), "", 7);  // a task
  slurm.submit(10, 4'000, seconds(5), "afterok:9");
  Asked world(slurm);
  for (int i = 0; i < 12; ++i) world.second();

  const Json facts = world.json("/v1/world");
  EXPECT_EQ(facts["kind"], "live");
  EXPECT_EQ(facts["gpus"].size(), 4u);
  EXPECT_EQ(facts["operator"], false);
  const Json live = world.json("/v1/jobs/changes");
  ASSERT_EQ(live["jobs"].size(), 5u) << live;
  std::map<std::string, Json> jobs;
  for (const Json& job : live["jobs"]) jobs[job["label"]] = job;
  EXPECT_EQ(jobs["1"]["state"], "running");
  EXPECT_FALSE(jobs["1"]["slice"].is_null());
  EXPECT_EQ(jobs["9_7"]["state"], "running");
  EXPECT_EQ(jobs["10"]["state"], "held");
  EXPECT_EQ(jobs["10"]["reason"], "it depends on other jobs");
  const Json task = world.json(fmt::format("/v1/jobs/{}", jobs["9_7"]["id"].get<std::uint64_t>()));
  EXPECT_EQ(task["array_index"], 7);
  EXPECT_FALSE(task.contains("command"));
  EXPECT_EQ(world.json("/v1/jobs/10/why")["code"], "held_by_slurm");
  EXPECT_EQ(world.json("/v1/jobs/1/why")["code"], "running");

  std::map<std::uint64_t, int> on_slices;
  const Json gpus = world.json("/v1/gpus");
  for (const Json& gpu : gpus["gpus"]) {
    EXPECT_EQ(gpu["state"], "ok");
    for (const Json& slice : gpu["slices"])
      if (!slice["job"].is_null()) ++on_slices[slice["job"].get<std::uint64_t>()];
  }
  EXPECT_EQ(on_slices.size(), 4u);
  EXPECT_EQ(on_slices[1], 1);
  EXPECT_EQ(on_slices[task["id"].get<std::uint64_t>()], 1);
  const Json status = world.json("/v1/status");
  EXPECT_EQ(status["queue"]["running"], 4);
  EXPECT_EQ(status["queue"]["held"], 1);
  EXPECT_TRUE(status["et"].is_null());
  EXPECT_GT(status["watts_w"].get<double>(), 0);
  const Json futures = world.json("/v1/futures?count=0");
  EXPECT_EQ(futures["jobs"].size(), 4u) << futures;

  // They end: the page is told which have gone, and what they took.
  for (int i = 0; i < 30; ++i) world.second();
  const Json later = world.json(fmt::format("/v1/jobs/changes?since={}", live["version"].get<std::uint64_t>()));
  EXPECT_EQ(later["whole"], false);
  EXPECT_EQ(std::set<std::uint64_t>(later["gone"].begin(), later["gone"].end()), (std::set<std::uint64_t>{1, 2, 3}));
  for (const Json& job : later["jobs"]) {
    if (job["label"] != "1") continue;
    EXPECT_EQ(job["state"], "done");
    EXPECT_TRUE(job["energy_j"].is_number());
    EXPECT_FALSE(job["ended_at"].is_null());
  }
  EXPECT_EQ(world.json("/v1/jobs?state=final")["jobs"].size(), 3u);
  EXPECT_EQ(world.json("/v1/status")["queue"]["done"], 3);
  EXPECT_EQ(world.json("/v1/status")["et"]["jobs"], 3);
  const std::string metrics = world.ask("/metrics").body;
  for (const char* line :
       {"smartmig_jobs{state=\"running\"} 1\n", "smartmig_slurm_gpus 4\n", "smartmig_ended_jobs_total 3\n"})
    EXPECT_NE(metrics.find(line), std::string::npos) << line << metrics;
}

TEST(SlurmServiceProcess, TellsAndChangesNothing) {
  FakeSlurm slurm(2, 1);
  slurm.submit(1, 4'000, seconds(300));
  Asked world(slurm);
  for (int i = 0; i < 8; ++i) world.second();
  const auto before = slurm.acted;
  const HttpReply cancelled = world.ask("/v1/jobs/1", "DELETE");
  EXPECT_EQ(cancelled.status, 501);
  EXPECT_NE(cancelled.body.find("scancel"), std::string::npos) << cancelled.body;
  EXPECT_EQ(world.ask("/v1/jobs", "POST", R"({"command":["true"]})").status, 501);
  EXPECT_EQ(world.ask("/v1/jobs/hold", "POST", R"({"ids":[1]})").status, 501);
  EXPECT_EQ(world.ask("/v1/gpus/0/drain", "POST").status, 501);
  EXPECT_EQ(world.ask("/v1/queue/pause", "POST").status, 501);
  EXPECT_EQ(world.ask("/v1/jobs/77").status, 404);
  world.second();
  EXPECT_EQ(slurm.acted, before);
}

// Of each route: Asked compares every reply with the document.
TEST(SlurmServiceProcess, EveryReplyIsWhatTheDocumentSays) {
  FakeSlurm slurm(1, 1);
  slurm.submit(1, 18'000, seconds(10));
  slurm.submit(2, 18'000, seconds(300));
  slurm.submit(3, 18'000, seconds(300));
  slurm.submit(4, 18'000, seconds(300), "afterok:2");
  Asked world(slurm);
  for (int i = 0; i < 30; ++i) world.second();
  for (const ApiRoute& route : api_routes()) {
    const bool body = route.body != nullptr;
    for (const char* number : {"1", "2", "3", "4"}) {
      std::string path = route.pattern;
      if (const auto open = path.find('{'); open != path.npos) path.replace(open, path.find('}') + 1 - open, number);
      const HttpReply reply = world.ask(path, route.method, body ? R"({"ids":[1,2,3,4]})" : "");
      EXPECT_NE(reply.status, 500) << path << reply.body;
    }
  }
  for (const ApiRoute& route : api_routes()) {
    const bool changes = route.method != std::string("GET") && !route.asks;
    if (!changes) continue;
    std::string path = route.pattern;
    if (const auto open = path.find('{'); open != path.npos) path.replace(open, path.find('}') + 1 - open, "1");
    EXPECT_GE(world.ask(path, route.method, route.body ? R"({"ids":[1]})" : "").status, 400) << path;
  }
}

TEST(SlurmServiceProcess, OutlivesItsControllers) {
  FakeSlurm slurm(2, 1);
  slurm.submit(1, 4'000, seconds(60));
  Asked world(slurm);
  for (int i = 0; i < 8; ++i) world.second();
  const std::uint64_t version = world.json("/v1/jobs/changes")["version"], position = world.past().position();
  EXPECT_GT(position, 0u);
  world.kill();
  EXPECT_EQ(world.ask("/v1/status").status, 503);
  EXPECT_EQ(world.ask("/readyz").status, 503);
  EXPECT_EQ(world.ask("/healthz").status, 200);
  EXPECT_EQ(world.ask("/metrics").body, "");
  world.reopen();
  for (int i = 0; i < 3; ++i) world.second();
  EXPECT_TRUE(world.past().lines(0, 10).closing);  // streams end, so that pages look anew
  EXPECT_GT(world.past().position(), position);
  const Json again = world.json(fmt::format("/v1/jobs/changes?since={}", version));
  EXPECT_EQ(again["whole"], true);
  EXPECT_EQ(again["jobs"].size(), 1u);
  EXPECT_EQ(world.json("/v1/world")["journal_run"].get<std::uint64_t>(), position + 1);
  world.service().close();
  EXPECT_EQ(world.ask("/v1/status").status, 503);
}

}  // namespace
}  // namespace smartmig
