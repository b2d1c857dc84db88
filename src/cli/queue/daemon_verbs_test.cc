// The verbs of the queue against a daemon that answers from a table, over a real socket.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <functional>
#include <mutex>

#include "base/file.h"
#include "base/text.h"
#include "cli/verbs.h"
#include "http/http_server.h"
#include "support/temp_dir.h"

namespace smartmig::cli {
namespace {

using Json = nlohmann::json;

class TableDaemon : public HttpHandler {
 public:
  using Answer = std::function<HttpReply(const HttpRequest&)>;
  TableDaemon() {
    HttpServerOptions options;
    options.socket = dir.path() + "/s.sock";
    server_ = std::move(HttpServer::start(*this, options).value());
  }
  HttpReply handle(const HttpRequest& request) override {
    const std::scoped_lock lock(mutex_);
    const std::string key = request.method + " " + request.path;
    asked.push_back(key);
    if (!request.body.empty()) bodies[key].push_back(Json::parse(request.body));
    const auto found = answers.find(key);
    return found == answers.end() ? error_reply(404, "not_found", "there is no " + request.path)
                                  : found->second(request);
  }
  void say(const std::string& key, const Json& json, int status = 200) {
    answers[key] = [json, status](const HttpRequest&) {
      HttpReply reply;
      reply.status = status;
      reply.body = json.dump();
      return reply;
    };
  }
  void say_text(const std::string& key, const std::string& text) {
    answers[key] = [text](const HttpRequest&) {
      HttpReply reply;
      reply.type = "text/plain";
      reply.body = text;
      return reply;
    };
  }
  std::string socket() const { return dir.path() + "/s.sock"; }

  TempDir dir;
  std::map<std::string, Answer> answers;
  std::vector<std::string> asked;
  std::map<std::string, std::vector<Json>> bodies;

 private:
  std::mutex mutex_;
  std::unique_ptr<HttpServer> server_;  // last: answers until the table goes
};

struct VerbOutcome {
  int code = -1;
  std::string out, err;
};

class Verbs : public testing::Test {
 protected:
  VerbOutcome call(int (*verb)(const Arguments&), Arguments arguments) {
    arguments.insert(arguments.begin(), {"--socket", daemon_.socket()});
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    VerbOutcome outcome;
    outcome.code = verb(arguments);
    std::fflush(stdout);
    outcome.out = testing::internal::GetCapturedStdout();
    outcome.err = testing::internal::GetCapturedStderr();
    return outcome;
  }
  static Json job(unsigned id, const char* state) {
    return {{"id", id},
            {"name", "train"},
            {"user", "anna"},
            {"state", state},
            {"reason", ""},
            {"submitted_at", 1000.0},
            {"started_at", 1060.0},
            {"ended_at", 1120.0},
            {"deadline_at", 1090.0},
            {"late_s", 30.0},
            {"attempt", 1},
            {"gpu", 0},
            {"slice", "3g.20gb@4"},
            {"exit_code", 0},
            {"estimate_s", 600.0},
            {"estimate_source", "guess"},
            {"energy", {{"energy_j", 33100.0}, {"source", "attributed from counter"}}}};
  }
  TableDaemon daemon_;
};

bool contains(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

TEST_F(Verbs, SubmitRefusesWhatIsNotThere) {
  daemon_.say("POST /v1/jobs", {{"ids", {7u}}, {"jobs", {job(7, "held")}}, {"warnings", Json::array()}}, 201);
  for (const auto& [arguments, words] : std::initializer_list<std::pair<Arguments, const char*>>{
           {{"nosuch.sh"}, "program nosuch.sh is not in the job's PATH"},
           {{"--", "no-such-program"}, "program no-such-program is not in the job's PATH"},
           {{"--chdir", "/nowhere", "--", "true"}, "directory /nowhere does not exist"}})
    for (const auto verb : {run_submit, run_run}) {
      const auto refused = call(verb, arguments);
      EXPECT_EQ(refused.code, 2) << refused.err;
      EXPECT_TRUE(contains(refused.err, words)) << refused.err;
    }
  EXPECT_TRUE(daemon_.bodies["POST /v1/jobs"].empty());
  const auto later = call(run_submit, {"--hold", "--", "no-such-program"});
  EXPECT_EQ(later.code, 0) << later.err;
  EXPECT_TRUE(contains(later.err, "may exist when it starts")) << later.err;
}

TEST_F(Verbs, SubmitTakesWhatAHeaderTakes) {
  daemon_.say("POST /v1/jobs", {{"ids", {7u}}, {"jobs", {job(7, "queued")}}, {"warnings", Json::array()}}, 201);
  const auto done = call(run_submit, {"-p", "gpu", "--gres", "gpu:1g.10gb:1", "--", "true"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_TRUE(contains(done.err, "--partition has no effect here")) << done.err;
  EXPECT_EQ(daemon_.bodies["POST /v1/jobs"].at(0)["profile"], "1g.10gb");
  EXPECT_EQ(call(run_submit, {"--nodes", "2", "--", "true"}).code, 2);
}

TEST_F(Verbs, SubmitSendsTheCommandWithItsDirectoryAndEnvironment) {
  daemon_.say("POST /v1/jobs", {{"ids", {7u}}, {"jobs", {job(7, "queued")}}, {"warnings", {"no estimate: a guess"}}},
              201);
  ::setenv("SMARTMIG_TEST_MARK", "here", 1);
  const auto done = call(run_submit, {"--mem", "18G", "--deadline", "2h", "--", "python3", "train.py", "--lr", "3"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(done.out, "job 7 train: queued\n");
  EXPECT_TRUE(contains(done.err, "no estimate: a guess"));
  const Json body = daemon_.bodies["POST /v1/jobs"].at(0);
  EXPECT_EQ(body["command"], Json({"python3", "train.py", "--lr", "3"}));
  EXPECT_EQ(body["mem_mib"], 18432);
  EXPECT_EQ(body["deadline_s"], 7200.0);
  EXPECT_EQ(body["directory"], std::filesystem::current_path().string());
  EXPECT_TRUE(contains(body["environment"].dump(), "SMARTMIG_TEST_MARK=here"));
  EXPECT_EQ(call(run_submit, {"--parsable", "sleep", "1"}).out, "7\n");
  EXPECT_EQ(daemon_.bodies["POST /v1/jobs"].at(1)["command"], Json({"sleep", "1"}));
}

TEST_F(Verbs, WhatAJobHasInItsEnvironmentIsNoOptionOfWhatItSubmits) {
  daemon_.say("POST /v1/jobs", {{"ids", {7u}}, {"jobs", {job(7, "queued")}}, {"warnings", Json::array()}}, 201);
  ::setenv("SMARTMIG_HOLD", "1", 1);
  ::setenv("SMARTMIG_DEADLINE", "2h", 1);
  const auto done = call(run_submit, {"--", "true"});
  ::unsetenv("SMARTMIG_HOLD");
  ::unsetenv("SMARTMIG_DEADLINE");
  EXPECT_EQ(done.code, 0) << done.err;
  const Json body = daemon_.bodies["POST /v1/jobs"].at(0);
  EXPECT_FALSE(body.value("hold", false));
  EXPECT_FALSE(body.contains("deadline_s"));
}

TEST_F(Verbs, OptionsAreReadFromTheDocumentedVariablesAlone) {
  for (const VerbText& verb : describe_verbs_and_aliases())
    for (const Command::OptionText& option : verb.command.options)
      EXPECT_TRUE(option.variable.empty() || option.variable == "SMARTMIG_SOCKET" ||
                  option.variable == "SMARTMIG_STATE" || option.variable.starts_with("MIG_PARTED_"))
          << verb.name << " " << option.name << " reads " << option.variable << ": name it in docs/queue.md";
}

TEST_F(Verbs, SubmitRefusesWhatIsNotUtf8) {
  const auto argument = call(run_submit, {"--", "cat", "caf\xe9"});
  EXPECT_EQ(argument.code, 2);
  EXPECT_TRUE(contains(argument.err, "argument 2 of the command: 'caf\\xE9' is not UTF-8")) << argument.err;
  EXPECT_EQ(call(run_submit, {"--name", "caf\xe9", "--", "true"}).code, 2);
  const auto wrapped = call(run_submit, {"--wrap", "cat caf\xe9"});
  EXPECT_EQ(wrapped.code, 2);
  EXPECT_TRUE(contains(wrapped.err, "--wrap")) << wrapped.err;
  TempDir dir;
  write_file(dir.path() + "/job.sh", "#!/bin/sh\ntrue\ncat caf\xe9\n").value();
  const auto script = call(run_submit, {dir.path() + "/job.sh", "x"});
  EXPECT_EQ(script.code, 2);
  EXPECT_TRUE(contains(script.err, "job.sh:3: 'cat caf\\xE9' is not UTF-8")) << script.err;
  const std::string odd = dir.path() + "/caf\xe9", before = std::filesystem::current_path().string();
  std::filesystem::create_directory(odd);
  std::filesystem::current_path(odd);
  const auto here = call(run_submit, {"--", "true"});
  std::filesystem::current_path(before);
  EXPECT_EQ(here.code, 2);
  EXPECT_TRUE(contains(here.err, "the current directory")) << here.err;
  EXPECT_TRUE(contains(here.err, "caf\\xE9")) << here.err;
  EXPECT_EQ(daemon_.bodies.count("POST /v1/jobs"), 0u);
}

TEST_F(Verbs, NoControlCharacterOfAJobReachesTheTerminal) {
  const std::string evil =
      "\x1b]0;owned\x07\x1b[2J\xc2\x9b"
      "31m\r";
  Json shown = job(12, "queued");
  for (const char* key : {"name", "user", "reason", "group", "kind", "slice", "estimate_source"}) shown[key] = evil;
  shown["gpu"] = 0;
  shown["command"] = {evil, "a\nb", evil};
  shown["spec"] = {
      {"directory", evil}, {"output", evil}, {"dependencies", {evil}}, {"mem_estimate_mib", 5}, {"mem_basis", evil}};
  daemon_.say("GET /v1/jobs/12", shown);
  daemon_.say("GET /v1/jobs?ids=12", {{"jobs", {shown}}});
  daemon_.say("GET /v1/jobs/12/why", {{"job", 12},
                                      {"code", evil},
                                      {"sentence", evil},
                                      {"memory", evil},
                                      {"to_change", {evil}},
                                      {"reservation", {{"slice", evil}, {"gpu", 0}, {"after", {evil}}}},
                                      {"alternatives", {{{"what", evil}}}}});
  daemon_.say("POST /v1/jobs/hold",
              {{"jobs", {shown}}, {"refused", {{{"id", 13}, {"code", "busy"}, {"message", evil}}}}});
  daemon_.say("POST /v1/jobs", {{"ids", {7u}}, {"jobs", {shown}}, {"warnings", {evil}}}, 201);
  daemon_.say("GET /v1/jobs/13", {{"error", {{"code", "not_found"}, {"message", evil}}}}, 404);
  const auto clean = [](const std::string& text) {
    return std::none_of(text.begin(), text.end(),
                        [](char c) { return (c >= 0 && c < ' ' && c != '\n') || c == 0x7F; }) &&
           text.find("\xc2\x9b") == text.npos;
  };
  const std::vector<std::pair<int (*)(const Arguments&), Arguments>> calls = {
      {run_show, {"12"}},  {run_show, {"13"}},       {run_why, {"12"}},
      {run_queue, {"12"}}, {run_hold, {"12", "13"}}, {run_submit, {"--", "true"}}};
  for (const auto& [verb, arguments] : calls) {
    const auto done = call(verb, arguments);
    EXPECT_FALSE((done.out + done.err).empty()) << arguments[0];
    EXPECT_TRUE(clean(done.out)) << done.out;
    EXPECT_TRUE(clean(done.err)) << done.err;
  }
  const auto json = call(run_show, {"--json", "12"});
  EXPECT_EQ(Json::parse(json.out)["jobs"][0]["command"][0], evil) << "JSON says what is there";
}

TEST_F(Verbs, OrdersNameTheirJobsInOneRequest) {
  const Json answer = {{"jobs", {job(12, "held")}}, {"refused", {{{"id", 13}, {"code", "busy"}, {"message", "no"}}}}};
  daemon_.say("POST /v1/jobs/hold", answer);
  const auto done = call(run_hold, {"12", "13", "--name", "sweep", "--state", "queued"});
  EXPECT_EQ(done.code, 1);
  EXPECT_EQ(done.out, "job 12 train: held\n");
  EXPECT_TRUE(contains(done.err, "no"));
  EXPECT_EQ(daemon_.bodies["POST /v1/jobs/hold"].at(0),
            Json({{"ids", {12, 13}}, {"name", "sweep"}, {"state", "queued"}}));
  EXPECT_EQ(call(run_release, {}).code, 2);
  daemon_.say("POST /v1/jobs/requeue", {{"jobs", Json::array()}, {"refused", Json::array()}});
  EXPECT_EQ(call(run_requeue, {"--failed", "--since", "2h"}).code, 0);
  EXPECT_EQ(daemon_.bodies["POST /v1/jobs/requeue"].at(0)["state"], "failed");
  EXPECT_TRUE(daemon_.bodies["POST /v1/jobs/requeue"].at(0).contains("since_at"));
}

TEST_F(Verbs, AnUpdateSendsWhatTheCommandLineSays) {
  daemon_.say("POST /v1/jobs/update", {{"jobs", {job(12, "queued")}}, {"refused", Json::array()}});
  const auto done = call(run_update, {"12", "--mem", "20G", "--time", "0", "--priority", "-2"});
  const auto nothing = call(run_update, {"12"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(daemon_.bodies["POST /v1/jobs/update"].at(0),
            Json({{"ids", {12}}, {"set", {{"mem_mib", 20480}, {"time_limit_s", nullptr}, {"priority", -2}}}}));
  EXPECT_EQ(nothing.code, 2);
  EXPECT_EQ(call(run_update, {"12", "--deadline", "none", "--begin", "now"}).code, 0);
  EXPECT_EQ(daemon_.bodies["POST /v1/jobs/update"].at(1)["set"], Json({{"deadline_at", nullptr}, {"begin_s", 0.0}}));
}

TEST_F(Verbs, ShowTellsAllOfAJob) {
  Json one = job(12, "running");
  one["ended_at"] = one["exit_code"] = nullptr;
  one["suspended"] = true;
  one["command"] = {"python3", "train.py", "--note", "a b"};
  one["spec"] = {{"directory", "/data"}, {"time_limit_s", 3600.0}, {"dependencies", {"afterok:3", "singleton"}}};
  daemon_.say("GET /v1/jobs/12", one);
  const auto done = call(run_show, {"12"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_TRUE(done.out.starts_with("job 12 train\n")) << done.out;
  for (const char* part :
       {"state        suspended", "command      python3 train.py --note 'a b'", "time limit   60 min",
        "depends on   afterok:3, singleton", "directory    /data", "runs on      0:3g.20gb@4", "33.1 kJ"})
    EXPECT_TRUE(contains(done.out, part)) << part << "\n" << done.out;
  EXPECT_EQ(call(run_show, {"13"}).code, 1);
}

TEST_F(Verbs, UsageIsATableOrCsv) {
  const Json row = {{"key", "an,na"},    {"jobs", 3},     {"done", 2},  {"energy_j", 33100.0},
                    {"slice_s", 7200.0}, {"late_s", 0.0}, {"cost", 0.5}};
  daemon_.say("GET /v1/usage", {{"by", "user"}, {"rows", {row}}, {"total", row}});
  const auto table = call(run_usage, {"--since", "7d"});
  EXPECT_EQ(table.code, 0) << table.err;
  EXPECT_TRUE(contains(table.out, "an,na     3     2              33.1 kJ         2.00     -  0.50")) << table.out;
  EXPECT_EQ(call(run_usage, {"--csv"}).out,
            "user,jobs,done,energy_j,slice_hours,late_s,cost\n\"an,na\",3,2,33100.000,2.000000,0.000,0.500000\n");
  EXPECT_EQ(call(run_usage, {"--by", "shoe"}).code, 2);
}

TEST_F(Verbs, GroupsAreShownAndSet) {
  const Json answer = {{"groups", {{{"name", "big"}, {"limit", 2}, {"running", 2}, {"waiting", 5}}}}};
  daemon_.say("GET /v1/groups", answer);
  daemon_.say("POST /v1/groups", answer);
  EXPECT_EQ(call(run_group, {}).out, "group  limit  running  waiting\nbig        2        2        5\n");
  EXPECT_EQ(call(run_group, {"big", "--limit", "2"}).code, 0);
  EXPECT_EQ(daemon_.bodies["POST /v1/groups"].at(0), Json({{"name", "big"}, {"limit", 2}}));
  EXPECT_EQ(call(run_group, {"--limit", "2"}).code, 2);
}

TEST_F(Verbs, ReservationsAreShownMadeAndRemoved) {
  const Json answer = {{"reservations",
                        {{{"name", "course"},
                          {"gpus", {0, 1}},
                          {"begin_at", 1.0e9},
                          {"end_at", 1.0e9 + 7200},
                          {"users", {"anna", "ben"}},
                          {"active", true},
                          {"running", 1},
                          {"waiting", 2},
                          {"still_running", {7}}}}}};
  for (const char* route : {"GET /v1/reservations", "POST /v1/reservations", "POST /v1/reservations/remove"})
    daemon_.say(route, answer);
  const auto list = call(run_reserve, {});
  EXPECT_EQ(list.code, 0) << list.err;
  EXPECT_TRUE(
      contains(list.out, "anna,ben  active        1        2\nOther users' jobs are still running in course: 7.\n"))
      << list.out;
  EXPECT_EQ(
      call(run_reserve, {"add", "course", "--gpus", "0,1", "--from", "2h", "--for", "90m", "--users", "anna"}).code, 0);
  EXPECT_EQ(
      daemon_.bodies["POST /v1/reservations"].at(0),
      Json({{"name", "course"}, {"gpus", {0, 1}}, {"begin_s", 7200.0}, {"duration_s", 5400.0}, {"users", {"anna"}}}));
  EXPECT_EQ(call(run_reserve, {"remove", "course"}).code, 0);
  EXPECT_EQ(daemon_.bodies["POST /v1/reservations/remove"].at(0), Json({{"name", "course"}}));
  EXPECT_EQ(call(run_reserve, {"add", "course", "--for", "1h"}).code, 2) << "no GPUs";
  daemon_.say("GET /v1/jobs", {{"jobs", Json::array()}, {"more", false}});
  daemon_.say("GET /v1/status", {{"policy", "best"}, {"queue", Json::object()}});
  const auto queue = call(run_queue, {});
  EXPECT_TRUE(contains(queue.out, "reserved: GPU 0,1 for anna,ben, ")) << queue.out << queue.err;
  EXPECT_EQ(call(run_reserve, {"add", "course", "--count", "1"}).code, 2) << "no length";
  EXPECT_EQ(call(run_reserve, {"wipe"}).code, 2);
}

TEST_F(Verbs, AJobForAnotherUserLeavesTheCallersHomeAtHome) {
  daemon_.say("POST /v1/jobs", {{"ids", {7u}}, {"jobs", {job(7, "queued")}}, {"warnings", Json::array()}}, 201);
  ::setenv("SUDO_USER", "anna", 1);
  EXPECT_EQ(call(run_submit, {"--for", "anna", "--", "true"}).code, 0);
  ::unsetenv("SUDO_USER");
  const std::string sent = daemon_.bodies["POST /v1/jobs"].at(0)["environment"].dump();
  EXPECT_FALSE(contains(sent, "\"HOME=") || contains(sent, "SUDO_USER")) << sent;
  EXPECT_TRUE(contains(sent, "\"PATH=")) << sent;
  EXPECT_EQ(call(run_submit, {"--for", "a&b", "--", "true"}).code, 2);
}

TEST_F(Verbs, AScriptBringsItsHeaderAndTheCommandLineGoesFirst) {
  daemon_.say("POST /v1/jobs", {{"ids", {8u}}, {"jobs", {job(8, "queued")}}, {"warnings", Json::array()}}, 201);
  const std::string script = "#!/bin/bash -e\n#SBATCH --mem=32G -p gpu\n#SMARTMIG --time 30m --name header\necho $1\n";
  const std::string path = daemon_.dir.file("job.sh", script);
  const auto done = call(run_submit, {"--name", "line", path, "--first", "second"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_TRUE(contains(done.err, "#SBATCH --partition has no effect here"));
  const Json body = daemon_.bodies["POST /v1/jobs"].at(0);
  EXPECT_EQ(body["script"], script);
  EXPECT_EQ(body["command"], Json({"/bin/bash", "-e", "--first", "second"}));
  EXPECT_EQ(body["name"], "line");
  EXPECT_EQ(body["host_mem_mib"], 32 * 1024);
  EXPECT_EQ(body["time_limit_s"], 1800.0);
  EXPECT_FALSE(body.contains("mem_mib"));
}

TEST_F(Verbs, AWrongCallIsTwoAndARefusalOne) {
  EXPECT_EQ(call(run_submit, {}).code, 2);
  EXPECT_EQ(call(run_submit, {"--mem", "lots", "--", "true"}).code, 2);
  EXPECT_EQ(call(run_submit, {"--mme", "4G", "--", "true"}).code, 2);
  EXPECT_EQ(call(run_cancel, {}).code, 2);
  EXPECT_EQ(call(run_why, {"seven"}).code, 2);
  daemon_.say("POST /v1/jobs", {{"error", {{"code", "busy"}, {"message", "the queue is full"}}}}, 409);
  const auto refused = call(run_submit, {"--", "true"});
  EXPECT_EQ(refused.code, 1);
  EXPECT_TRUE(contains(refused.err, "the queue is full")) << refused.err;
  const auto missing = call(run_why, {"7"});
  EXPECT_EQ(missing.code, 1);
  EXPECT_TRUE(contains(missing.err, "there is no /v1/jobs/7/why")) << missing.err;
}

TEST_F(Verbs, QueueShowsLatenessEnergyAndGuessesInWords) {
  Json prices = {{"energy_per_kwh", 0.3}, {"late_per_hour", 2.0}};
  Json priced = job(7, "done");
  priced["cost"] = 0.42;
  daemon_.say("GET /v1/jobs", {{"jobs", {priced}}, {"more", false}});
  daemon_.say(
      "GET /v1/status",
      {{"policy", "planner"}, {"queue", {{"running", 0}}}, {"watts_w", 450.0}, {"prices", prices}, {"paused", true}});
  const auto shown = call(run_queue, {"--finished"});
  EXPECT_EQ(shown.code, 0) << shown.err;
  for (const char* part : {"energy (attributed)", "33.1 kJ", "30 s late", "0:3g.20gb@4", "10 min guess", "0.420",
                           "60 s", "450 W now", "PAUSED"})
    EXPECT_TRUE(contains(shown.out, part)) << part << " in\n" << shown.out;
  EXPECT_EQ(Json::parse(call(run_queue, {"--finished", "--json"}).out)["jobs"][0]["id"], 7);
  EXPECT_EQ(call(run_queue, {"--ids"}).out, "7\n");
  EXPECT_EQ(call(run_queue, {"--user", "a&b"}).code, 2);
}

TEST_F(Verbs, RunShowsTheLogAndEndsWithTheJobsCode) {
  daemon_.say("POST /v1/jobs", {{"ids", {7u}}, {"jobs", {job(7, "queued")}}, {"warnings", Json::array()}}, 201);
  int looks = 0;
  daemon_.answers["GET /v1/jobs/7"] = [&](const HttpRequest&) {
    Json now = job(7, ++looks < 3 ? "queued" : looks < 4 ? "running" : "failed");
    if (looks < 3) now["attempt"] = 0;
    if (looks >= 4) now["exit_code"] = 3;
    HttpReply reply;
    reply.body = now.dump();
    return reply;
  };
  daemon_.answers["GET /v1/jobs/7/log"] = [](const HttpRequest& request) {
    HttpReply reply;
    reply.type = "text/plain";
    for (const auto& [name, value] : request.query)
      if (name == "offset" && value == "0") reply.body = "hello\n";
    return reply;
  };
  const auto done = call(run_run, {"--", "sh", "-c", "exit 3"});
  EXPECT_EQ(done.code, 3);
  EXPECT_EQ(done.out, "hello\n") << "once, although the log was asked for twice";
  EXPECT_TRUE(contains(done.err, "failed (exit 3)")) << done.err;
}

TEST_F(Verbs, WaitSucceedsOnlyIfAllDid) {
  daemon_.say("GET /v1/jobs/7", job(7, "done"));
  daemon_.say("GET /v1/jobs/8", job(8, "cancelled"));
  daemon_.say("GET /v1/jobs/9", job(9, "running"));
  const auto good = call(run_wait, {"7"});
  EXPECT_EQ(good.code, 0) << good.err;
  EXPECT_TRUE(contains(good.out, "job 7 train: done after 60 s on 0:3g.20gb@4, 33.1 kJ attributed from counter"))
      << good.out;
  EXPECT_EQ(call(run_wait, {"7-8"}).code, 1);
  EXPECT_EQ(call(run_wait, {"9", "--timeout", "0"}).code, 1);
}

TEST_F(Verbs, LogIsTheTextAloneAndItsLastLines) {
  daemon_.say("GET /v1/jobs/7", job(7, "done"));
  daemon_.say_text("GET /v1/jobs/7/log", "one\ntwo\nthree");
  const auto all = call(run_log, {"7"});
  EXPECT_EQ(all.out, "one\ntwo\nthree");
  EXPECT_TRUE(contains(all.err, "33.1 kJ attributed"));
  EXPECT_EQ(call(run_log, {"-n", "2", "7"}).out, "two\nthree");
  EXPECT_EQ(call(run_log, {"-f", "7"}).out, "one\ntwo\nthree");
}

TEST_F(Verbs, ControlVerbsAskForOneThingEach) {
  daemon_.say("POST /v1/jobs/cancel", {{"jobs", Json::array({job(7, "cancelled")})},
                                       {"refused", Json::array({{{"id", 6}, {"code", "busy"}, {"message", "no"}}})}});
  daemon_.say("POST /v1/jobs/requeue", {{"jobs", Json::array({job(7, "queued")})}, {"refused", Json::array()}});
  daemon_.say("POST /v1/gpus/3/drain", Json::object());
  daemon_.say("POST /v1/gpus/3/resume", Json::object());
  daemon_.say("POST /v1/queue/pause", Json::object());
  daemon_.say("POST /v1/queue/resume", Json::object());
  daemon_.say("POST /v1/backup", Json::object());
  const auto some = call(run_cancel, {"6", "7"});
  EXPECT_EQ(some.code, 1);
  EXPECT_EQ(some.out, "job 7 train: cancelled\n") << "the refusal of one does not keep the other";
  EXPECT_EQ(daemon_.bodies["POST /v1/jobs/cancel"].size(), 1u) << "one request, however many jobs";
  EXPECT_EQ(daemon_.bodies["POST /v1/jobs/cancel"].at(0), (Json{{"ids", {6, 7}}}));
  call(run_cancel, {"--all"});
  EXPECT_EQ(daemon_.bodies["POST /v1/jobs/cancel"].at(1), (Json{{"all", true}}));
  EXPECT_EQ(call(run_requeue, {"7"}).code, 0);
  EXPECT_EQ(call(run_drain, {"3"}).code, 0);
  EXPECT_EQ(call(run_resume, {"3"}).code, 0);
  EXPECT_EQ(call(run_pause, {}).code, 0);
  EXPECT_EQ(call(run_resume, {}).code, 0);
  EXPECT_EQ(call(run_backup, {"copy.db"}).code, 0);
  EXPECT_EQ(daemon_.bodies["POST /v1/backup"].at(0)["path"], (std::filesystem::current_path() / "copy.db").string());
  EXPECT_EQ(daemon_.asked.back(), "POST /v1/backup");
}

TEST_F(Verbs, AnAlternativeDoesNotStartInThePast) {
  const double before = double(std::time(nullptr)) - 20;
  daemon_.say("GET /v1/jobs/7/why",
              {{"job", 7u},
               {"code", "policy_waits"},
               {"sentence", "it waits"},
               {"to_change", Json::array()},
               {"alternatives",
                {{{"what", "unchanged"}, {"start_at", before}, {"finish_at", before + 600}, {"late_s", 0.0}}}}});
  const auto why = call(run_why, {"7"});
  EXPECT_TRUE(contains(why.out, "unchanged")) << why.out;
  EXPECT_FALSE(contains(why.out, "ago")) << why.out;
}

TEST_F(Verbs, WhatHasNoStartOrNoDeadlineIsNotGivenOne) {
  const double now = double(std::time(nullptr));
  daemon_.say("GET /v1/jobs/7/why",
              {{"job", 7u},
               {"code", "held_dependency"},
               {"sentence", "job 7 waits for job 6; job 6 has no expected end"},
               {"to_change", Json::array()},
               {"alternatives",
                {{{"what", "unchanged"}, {"start_at", nullptr}, {"finish_at", nullptr}, {"late_s", nullptr}},
                 {{"what", "another"}, {"start_at", now + 60}, {"finish_at", now + 90}, {"late_s", nullptr}}}}});
  const auto why = call(run_why, {"7"});
  EXPECT_FALSE(contains(why.out, "on time")) << why.out;
  EXPECT_TRUE(contains(why.out, "n/a")) << why.out;
  Json eta = {{"job", 7u},
              {"futures", 20},
              {"state", "held"},
              {"started_at", nullptr},
              {"start_at", nullptr},
              {"finish_at", nullptr},
              {"deadline_at", now + 900},
              {"on_time_ratio", nullptr},
              {"if_released", nullptr},
              {"no_start", "held by its owner: smartmig release 7"}};
  daemon_.say("GET /v1/jobs/7/eta", eta);
  const auto held = call(run_eta, {"7"});
  EXPECT_TRUE(contains(held.out, "job 7 has no start: held by its owner: smartmig release 7\n")) << held.out;
  EXPECT_FALSE(contains(held.out, "early")) << held.out;
  const Json spread = {{"p10", now + 60}, {"p50", now + 70}, {"p90", now + 80}};
  eta["if_released"] = {{"start_at", spread}, {"finish_at", spread}, {"on_time_ratio", 0.75}};
  daemon_.say("GET /v1/jobs/7/eta", eta);
  const auto released = call(run_eta, {"7"});
  for (const char* part : {"has no start", "If it is released now:", "starts", "met in 75 % of them"})
    EXPECT_TRUE(contains(released.out, part)) << part << " in\n" << released.out;
  // A start that all futures have in the past is one only where the job has started.
  const Json past = {{"p10", now - 30}, {"p50", now - 20}, {"p90", now - 9}};
  eta = {{"job", 7u},        {"futures", 20},      {"state", "queued"}, {"started_at", nullptr},
         {"start_at", past}, {"finish_at", spread}};
  daemon_.say("GET /v1/jobs/7/eta", eta);
  EXPECT_FALSE(contains(call(run_eta, {"7"}).out, "started"));
  eta["started_at"] = now - 9;
  daemon_.say("GET /v1/jobs/7/eta", eta);
  EXPECT_TRUE(contains(call(run_eta, {"7"}).out, "started"));
}

TEST_F(Verbs, WhyEtaAndWhatifSpeakInUnits) {
  daemon_.say("GET /v1/jobs/7/why", {{"job", 7u},
                                     {"code", "no_room"},
                                     {"sentence", "no slice of 20 GiB is free"},
                                     {"to_change", {"job 5 ends"}},
                                     {"alternatives",
                                      {{{"what", "on 4g"},
                                        {"start_at", 2e9},
                                        {"finish_at", 2e9},
                                        {"late_s", 90.0},
                                        {"energy_j", 5e6},
                                        {"cost", 0.5}}}}});
  const auto why = call(run_why, {"7"});
  for (const char* part :
       {"no slice of 20 GiB is free [no_room]", "job 5 ends", "on 4g", "90 s late", "1.39 kWh", "0.500"})
    EXPECT_TRUE(contains(why.out, part)) << part << " in\n" << why.out;
  daemon_.say("GET /v1/jobs/7/eta", {{"job", 7u},
                                     {"futures", 20},
                                     {"start_at", {{"p10", 2e9}, {"p50", 2e9}, {"p90", 2e9}}},
                                     {"finish_at", {{"p10", 2e9}, {"p50", 2e9}, {"p90", 2e9}}},
                                     {"deadline_at", 2e9},
                                     {"on_time_ratio", 0.85}});
  EXPECT_TRUE(contains(call(run_eta, {"7"}).out, "met in 85 % of them"));
  const auto outcome = [](double joules) {
    return Json{{"policy", "planner"},   {"energy_j", joules}, {"late_s", 0.0},  {"mean_late_s", 0.0},
                {"last_finish_at", 2e9}, {"jobs", 3},          {"cost", nullptr}};
  };
  daemon_.say("POST /v1/whatif", {{"now", outcome(2e6)},
                                  {"then", outcome(1.5e6)},
                                  {"jobs",
                                   {{{"id", 4u},
                                     {"finish_now_at", 2e9},
                                     {"finish_then_at", 2e9 - 600},
                                     {"late_now_s", 30.0},
                                     {"late_then_s", 0.0}}}}});
  const auto whatif = call(run_whatif, {"--add-gpus", "1xa100-40gb", "--mem", "4G", "--", "true"});
  EXPECT_EQ(whatif.code, 0) << whatif.err;
  for (const char* part : {"-500.0 kJ (-25.0 %)", "-10 min", "30 s"})
    EXPECT_TRUE(contains(whatif.out, part)) << part << " in\n" << whatif.out;
  const Json body = daemon_.bodies["POST /v1/whatif"].at(0);
  EXPECT_EQ(body["add_gpus"], "1xa100-40gb");
  EXPECT_EQ(body["job"]["mem_mib"], 4096);
  EXPECT_EQ(call(run_whatif, {}).code, 2);
}

TEST_F(Verbs, TopOnceIsOneFrameAndExportTheJournal) {
  daemon_.say("GET /v1/gpus",
              {{"gpus", {{{"index", 0}, {"model", "a100-40gb"}, {"watts_w", 55.0}, {"slices", Json::array()}}}}});
  daemon_.say("GET /v1/jobs", {{"jobs", Json::array()}, {"more", false}});
  daemon_.say("GET /v1/status", {{"policy", "planner"}, {"watts_w", 55.0}});
  const auto frame = call(run_top, {"--once"});
  EXPECT_EQ(frame.code, 0) << frame.err;
  EXPECT_TRUE(contains(frame.out, "0 a100-40gb      55 W |......")) << frame.out;
  EXPECT_EQ(Json::parse(call(run_top, {"--json"}).out)["gpus"].size(), 1u);
  daemon_.say_text("GET /v1/journal", "{\"a\":1}\n{\"b\":2}\n");
  EXPECT_EQ(call(run_export, {"--journal"}).out, "{\"a\":1}\n{\"b\":2}\n");
  const std::string file = daemon_.dir.path() + "/j.jsonl";
  EXPECT_EQ(call(run_export, {"--journal", "-o", file}).code, 0);
  EXPECT_EQ(read_file(file).value(), "{\"a\":1}\n{\"b\":2}\n");
}

TEST_F(Verbs, NoDaemonIsASentence) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(run_queue({"--socket", daemon_.dir.path() + "/none.sock"}), 1);
  const std::string words = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(contains(words, "none.sock")) << words;
}

}  // namespace
}  // namespace smartmig::cli
