#include "cli/queue/submit_options.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <set>

#include "base/file.h"
#include "cli/queue/exported_environment.h"
#include "cli/queue/sbatch_options.h"
#include "cli/queue/script_header.h"
#include "support/paths.h"

namespace smartmig::cli {
namespace {

constexpr UnixTime kNow = from_unix_us(1'794'756'600'000'000);

Result<Draft> draft_of(const std::string& script) {
  SMARTMIG_TRY(const ScriptHeader header, read_script_header("job.sh", script));
  Draft draft;
  draft.notes = header.warnings;
  SMARTMIG_RETURN_IF_ERROR(apply(draft, header.sbatch, Dialect::kSbatch, kNow));
  SMARTMIG_RETURN_IF_ERROR(apply(draft, header.smartmig, Dialect::kSmartmig, kNow));
  return draft;
}

Result<Draft> draft_of(std::initializer_list<std::pair<const char*, const char*>> options) {
  Draft draft;
  std::vector<GivenOption> given;
  for (const auto& [name, value] : options) given.push_back({find_submit_option(name), value});
  SMARTMIG_RETURN_IF_ERROR(apply(draft, given, Dialect::kSmartmig, kNow));
  return draft;
}

TEST(SubmitOptions, EachOptionHasItsPlaceInTheSpec) {
  const auto draft = draft_of({{"--mem", "18G"},
                               {"--min-slices", "3"},
                               {"--max-slices", "4"},
                               {"--deadline", "2h"},
                               {"-t", "90"},
                               {"--estimate", "20m@3g"},
                               {"--job-name", "train"},
                               {"-o", "%j.out"},
                               {"--array", "0-3%2"},
                               {"--dependency", "afterok:4:5,afterany:6"},
                               {"--signal", "B:USR1@45"},
                               {"-c", "2.5"},
                               {"--host-mem", "4G"},
                               {"--nice", "10"},
                               {"--restart-time", "2m"},
                               {"--chdir", "/tmp/../var"}});
  ASSERT_TRUE(draft) << draft.error().what;
  const JobSpec& spec = draft->spec;
  EXPECT_EQ(spec.mem_mib, 18432);
  EXPECT_EQ(spec.min_slices, 3);
  EXPECT_EQ(spec.max_slices, 4);
  EXPECT_EQ(draft->deadline_in, Time(7'200'000'000));
  EXPECT_EQ(spec.time_limit, Time(5'400'000'000));
  EXPECT_EQ(spec.estimate, Time(1'200'000'000));
  EXPECT_EQ(spec.estimate_slices, 3);
  EXPECT_EQ(spec.name, "train");
  EXPECT_EQ(spec.array.size(), 4u);
  EXPECT_EQ(spec.array_limit, 2);
  ASSERT_EQ(spec.dependencies.size(), 3u);
  EXPECT_EQ(spec.dependencies[1].job, 5u);
  EXPECT_EQ(spec.dependencies[2].when, Dependency::kAfterAny);
  EXPECT_EQ(spec.checkpoint_signal, SIGUSR1);
  EXPECT_EQ(spec.grace, Time(45'000'000));
  EXPECT_EQ(spec.restart, Time(120'000'000));
  EXPECT_EQ(spec.cpus, 2.5);
  EXPECT_EQ(spec.host_mem_mib, 4096);
  EXPECT_EQ(spec.priority, -10);
  EXPECT_EQ(spec.directory, "/var");
  EXPECT_EQ(to_body(*draft)["deadline_s"], 7200.0);
}

TEST(SubmitOptions, AreThoseOfTheFieldsOfAJob) {
  std::size_t all = 0;
  std::set<std::string> names;
  for (const JobField& field : job_fields()) all += field.options.size();
  for (const SubmitOption& option : submit_options()) EXPECT_TRUE(names.insert(option.name).second) << option.name;
  EXPECT_EQ(submit_options().size(), all) << "a field's heading is not one of kHeadings";
}

TEST(SubmitOptions, AFieldWithoutAReaderOfItsOwnTakesItsValueAsItIs) {
  const auto draft = draft_of({{"--kind", "bert-infer"},
                               {"--no-patient", "1"},
                               {"--no-oom-retry", "1"},
                               {"--prelaunch", "1"},
                               {"--grace", "2m"},
                               {"--priority", "-3"},
                               {"--checkpoint-signal", "USR2"}});
  ASSERT_TRUE(draft) << draft.error().what;
  EXPECT_EQ(draft->spec.kind, "bert-infer");
  EXPECT_EQ(draft->spec.patient, false);
  EXPECT_FALSE(draft->spec.oom_retry);
  EXPECT_EQ(draft->spec.prelaunch, true);
  EXPECT_EQ(draft->spec.grace, Time(120'000'000));
  EXPECT_EQ(draft->spec.priority, -3);
  EXPECT_EQ(draft->spec.checkpoint_signal, SIGUSR2);
  EXPECT_EQ(draft_of({{"--priority", "2000000"}}).error().what,
            "--priority: must be between -1000000 and 1000000, not 2000000");
}

TEST(SubmitOptions, TheLastOneWinsAndPreemptionCanBeTakenBack) {
  const auto draft =
      draft_of({{"--deadline", "2h"}, {"--deadline", "16:00"}, {"--requeue", "1"}, {"--no-preempt", "1"}});
  ASSERT_TRUE(draft);
  EXPECT_FALSE(draft->deadline_in);
  EXPECT_EQ(draft->spec.deadline, kNow + Time(1'800'000'000));
  EXPECT_FALSE(draft->spec.preemptible());
  EXPECT_TRUE(draft->spec.may_grow()) << "not to be stopped for others is no wish to run once";
  const auto once = draft_of({{"--requeue", "1"}, {"--no-requeue", "1"}, {"--checkpoint-signal", "USR1"}});
  ASSERT_TRUE(once);
  EXPECT_TRUE(once->spec.once);
  EXPECT_FALSE(once->spec.preemptible() || once->spec.may_grow());
  EXPECT_EQ(to_body(*once)["once"], true);
  EXPECT_FALSE(draft_of({{"--no-requeue", "1"}, {"--requeue", "1"}})->spec.once);
  const auto stays = draft_of({{"--no-oom-retry", "1"}, {"--requeue", "1"}});
  EXPECT_TRUE(stays->spec.preemptible());
  EXPECT_FALSE(stays->spec.may_grow());
  EXPECT_FALSE(draft_of({{"--mem", "4G"}, {"--mem", "auto"}})->spec.mem_mib);
  EXPECT_FALSE(draft_of({{"--time", "30m"}, {"--time", "0"}})->spec.time_limit);
}

TEST(SubmitOptions, AProfileIsAskedForByName) {
  for (const char* value : {"gpu:1g.10gb:1", "gpu:1g.10gb", "1g.10gb", "1g.10gb:1", "gres/gpu:1g.10gb:1"}) {
    const auto draft = draft_of({{"--gres", value}});
    ASSERT_TRUE(draft) << draft.error().what;
    EXPECT_EQ(draft->spec.profile, "1g.10gb") << value;
    EXPECT_FALSE(draft->spec.mem_mib) << "the machine's profile says it";
  }
  EXPECT_EQ(draft_of({{"--profile", "2g.20gb"}})->spec.profile, "2g.20gb");
  const auto typed = draft_of({{"--gres", "gpu:a100_3g.20gb:1"}});
  EXPECT_EQ(typed->spec.profile, "3g.20gb");
  EXPECT_EQ(typed->spec.gpu_model, "a100");
  for (const char* wrong : {"gpu:1g.10gb:2", "fpga:1", "gpu:1,shard:2", "gpu:a:b:1", "gpu:0"})
    EXPECT_FALSE(draft_of({{"--gres", wrong}})) << wrong;
  EXPECT_NE(draft_of({{"--gpus", "2"}}).error().what.find("jobs on several GPUs are not supported"), std::string::npos);
  EXPECT_FALSE(draft_of({{"--profile", "10gb"}}));
  const auto slurms = draft_of({{"--profile", "energy"}});
  ASSERT_TRUE(slurms);
  EXPECT_EQ(slurms->spec.profile, "");
  EXPECT_EQ(slurms->notes.size(), 1u);
}

TEST(SubmitOptions, AModelIsAWholeGpuAndAGpuNamesNoSize) {
  for (const auto& [option, value] : {std::pair("--gres", "gpu:h100:1"), {"--gpus", "h100:1"}, {"--gpus", "h100"}}) {
    const auto draft = draft_of({{option, value}});
    ASSERT_TRUE(draft) << draft.error().what;
    EXPECT_TRUE(draft->spec.exclusive) << value;
    EXPECT_EQ(draft->spec.gpu_model, "h100") << value;
  }
  EXPECT_TRUE(draft_of({{"--exclusive", "1"}})->spec.exclusive);
  for (const char* value : {"1", "gpu:1", "gpu"}) {
    const auto any = draft_of({{"--gpus", value}});
    ASSERT_TRUE(any) << any.error().what;
    EXPECT_TRUE(any->spec.one_gpu);
    EXPECT_FALSE(any->spec.exclusive);
  }
}

TEST(SubmitOptions, OfSeveralSizesTheLastOneWins) {
  const auto profile = draft_of({{"--exclusive", "1"}, {"--min-slices", "3"}, {"--profile", "1g.10gb"}});
  EXPECT_FALSE(profile->spec.exclusive);
  EXPECT_EQ(profile->spec.min_slices, 1);
  const auto bounds = draft_of({{"--profile", "1g.10gb"}, {"--min-slices", "2"}, {"--max-slices", "3"}});
  EXPECT_EQ(bounds->spec.profile, "");
  EXPECT_EQ(bounds->spec.min_slices, 2);
  const auto whole = draft_of({{"--max-slices", "3"}, {"--gres", "gpu:h100:1"}, {"--gpus", "1"}});
  EXPECT_TRUE(whole->spec.exclusive);
  EXPECT_EQ(whole->spec.max_slices, 0);
}

TEST(SubmitOptions, ABareNumberOfMemoryIsRefusedWithBothReadings) {
  for (const char* name : {"--mem", "--mem-per-gpu", "--host-mem", "--mem-per-cpu"}) {
    EXPECT_EQ(draft_of({{name, "18"}}).error().what,
              std::string(name) + ": '18' has no unit; write 18M for 18 MiB or 18G for 18 GiB");
    EXPECT_FALSE(draft_of({{name, "0"}})) << name;
  }
  const auto slurms = draft_of("#!/bin/sh\n#SBATCH --mem=32768 --mem-per-gpu=10240\n");
  ASSERT_TRUE(slurms) << slurms.error().what;
  EXPECT_EQ(slurms->spec.host_mem_mib, 32768) << "MiB, as for Slurm";
  EXPECT_EQ(slurms->spec.mem_mib, 10240);
  const auto all = draft_of("#!/bin/sh\n#SBATCH --mem=0\n");
  ASSERT_TRUE(all) << all.error().what;
  EXPECT_EQ(all->spec.host_mem_mib, 0);
  ASSERT_EQ(all->notes.size(), 1u);
}

TEST(SubmitOptions, TheCommandLineToleratesWhatAHeaderDoes) {
  std::vector<GivenOption> given;
  std::vector<std::string> notes;
  bool parsable = false;
  const auto parsed = [&](std::vector<std::string> arguments) -> std::string {
    Command cmd("submit", "", "", "");
    given.clear(), notes.clear();
    declare_submit_options(cmd, given, notes);
    cmd.flag("--parsable", parsable, "");
    const auto good = cmd.parse(arguments);
    return good ? "" : good.error().what;
  };
  EXPECT_EQ(parsed({"--partition", "gpu", "-N1", "--ntasks=1", "--parsable", "--time", "5"}), "");
  EXPECT_TRUE(parsable) << "its own flags come first";
  EXPECT_EQ(given.size(), 1u);
  ASSERT_EQ(notes.size(), 3u);
  EXPECT_EQ(notes[0], "--partition has no effect here: there is only one queue");
  EXPECT_EQ(parsed({"--nodes=2"}), "--nodes=2 is not supported: the queue has only one machine");
  Command cmd("submit", "", "", "");
  declare_submit_options(cmd, given, notes);
  EXPECT_EQ(cmd.help().find("--partition"), std::string::npos);
}

TEST(SubmitOptions, AWrongValueNamesItsOption) {
  const std::pair<const char*, const char*> cases[] = {{"--mem", "lots"},
                                                       {"--min-slices", "0"},
                                                       {"--max-slices", "9"},
                                                       {"--estimate", "5m@9g"},
                                                       {"--deadline", "2020-01-01"},
                                                       {"--cpus", "0"},
                                                       {"--deadline", "soon"},
                                                       {"--time", "x"},
                                                       {"--estimate", "20m@x"},
                                                       {"--estimate", "0"},
                                                       {"--array", "3-1"},
                                                       {"--dependency", "before:3"},
                                                       {"--dependency", "after"},
                                                       {"--begin", "soon"},
                                                       {"--mail-type", "SOMETIMES"},
                                                       {"--dependency", "afterok"},
                                                       {"--dependency", "afterok:x"},
                                                       {"--checkpoint-signal", "KILL"},
                                                       {"--signal", "USR1@x"},
                                                       {"--cpus", "-1"},
                                                       {"--nice", "x"},
                                                       {"--name", "a\nb"}};
  for (const auto& [name, value] : cases) {
    const auto draft = draft_of({{name, value}});
    ASSERT_FALSE(draft) << name << " " << value;
    EXPECT_TRUE(draft.error().what.starts_with(name)) << draft.error().what;
  }
}

TEST(SubmitOptions, TheEnvironmentTravelsAsAskedAndTheTokenStays) {
  char home[] = "HOME=/root", token[] = "SMARTMIG_TOKEN=secret", odd[] = "ODD=\xff", path[] = "PATH=/bin:/usr/bin=x";
  char* environment[] = {home, token, odd, path, nullptr};
  std::vector<std::string> notes;
  EXPECT_EQ(exported_environment("ALL", environment, notes),
            (std::vector<std::string>{"HOME=/root", "PATH=/bin:/usr/bin=x"}));
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("ODD"), std::string::npos);
  EXPECT_TRUE(exported_environment("NONE", environment, notes).empty());
  EXPECT_EQ(exported_environment("HOME,B=c", environment, notes), (std::vector<std::string>{"B=c", "HOME=/root"}));
  EXPECT_EQ(exported_environment("ALL,HOME=/x", environment, notes).front(), "HOME=/x");
  notes.clear();
  exported_environment("NOPE", environment, notes);
  EXPECT_EQ(notes.size(), 1u);
}

TEST(ScriptHeader, SbatchLinesAreReadBelowSmartmigLines) {
  const auto draft = draft_of(
      "#!/bin/bash -l\n"
      "# a remark\n"
      "#SBATCH --job-name=\"my job\" --time=1-00:00:00   # a day\n"
      "#SBATCH -c4 --mem 32G\n"
      "#SBATCH --mem-per-gpu=10G\n"
      "#SBATCH --requeue\n"
      "\n"
      "#SMARTMIG --time 30m --kind bert-infer\n"
      "#SBATCHX --name wrong\n"
      "##SBATCH --name off\n"
      "echo hello\n"
      "#SBATCH --name late\n");
  ASSERT_TRUE(draft) << draft.error().what;
  EXPECT_EQ(draft->spec.name, "my job");
  EXPECT_EQ(draft->spec.time_limit, Time(1'800'000'000));
  EXPECT_EQ(draft->spec.cpus, 4);
  EXPECT_EQ(draft->spec.host_mem_mib, 32 * 1024) << "Slurm's --mem is the host's";
  EXPECT_EQ(draft->spec.mem_mib, 10 * 1024);
  EXPECT_TRUE(draft->spec.requeue);
  EXPECT_EQ(draft->spec.kind, "bert-infer");
  EXPECT_TRUE(draft->notes.empty());
}

TEST(ScriptHeader, WhatMeansNothingHereIsNamedAndIgnored) {
  const auto draft = draft_of("#!/bin/sh\n#SBATCH -p gpu --nodes 1 -n1 --name x\n#SBATCH --deadline=16:00\n");
  ASSERT_TRUE(draft) << draft.error().what;
  EXPECT_EQ(draft->spec.name, "x");
  ASSERT_EQ(draft->notes.size(), 4u);
  EXPECT_EQ(draft->notes[0], "job.sh line 2: #SBATCH --partition has no effect here: there is only one queue");
  EXPECT_NE(draft->notes[1].find("--nodes"), std::string::npos);
  EXPECT_NE(draft->notes[2].find("--ntasks"), std::string::npos);
  EXPECT_NE(draft->notes[3].find("soft deadline"), std::string::npos);
}

TEST(ScriptHeader, WhatWouldChangeWhatHappensIsRefused) {
  const auto refusal = [](const std::string& line) {
    const auto header = read_script_header("job.sh", "#!/bin/sh\n#SBATCH " + line + "\n");
    return header ? std::string("accepted") : header.error().what;
  };
  EXPECT_EQ(refusal("--nodes=2"), "job.sh line 2: #SBATCH --nodes=2 is not supported: the queue has only one machine");
  EXPECT_EQ(refusal("--exclusive"), "accepted");
  EXPECT_NE(refusal("--test-only").find("whatif"), std::string::npos);
  EXPECT_NE(refusal("-i data.txt").find("--input=data.txt"), std::string::npos);
  EXPECT_NE(refusal("--wrap='sleep 1'").find("command line"), std::string::npos);
  EXPECT_NE(refusal("--hodl").find("is not an option of sbatch nor of submit, did you mean --hold?"),
            std::string::npos);
}

TEST(ScriptHeader, WaitingMailAndErrorsAreReadAsSlurmHasThem) {
  const auto draft = draft_of(
      "#!/bin/sh\n#SBATCH --begin=now+90 --hold -e err.%j --mail-type=END,FAIL --mail-user=a@b.example\n"
      "#SBATCH --dependency=singleton,after:7 --mem-per-cpu=1G -c 4\n");
  ASSERT_TRUE(draft) << draft.error().what;
  EXPECT_EQ(draft->begin_in, Time(90'000'000)) << "Slurm counts seconds";
  EXPECT_TRUE(draft->spec.hold);
  EXPECT_EQ(draft->spec.error, "err.%j");
  EXPECT_EQ(draft->spec.mail, (std::vector{MailEvent::kEnd, MailEvent::kFail}));
  EXPECT_EQ(draft->spec.mail_user, "a@b.example");
  EXPECT_TRUE(draft->spec.singleton);
  ASSERT_EQ(draft->spec.dependencies.size(), 1u);
  EXPECT_EQ(draft->spec.dependencies[0].when, Dependency::kAfter);
  EXPECT_EQ(to_body(*draft)["host_mem_mib"], 4096);
  EXPECT_EQ(to_body(*draft)["begin_s"], 90.0);
}

TEST(SbatchOptions, EveryHonouredOneIsAnOptionOfSubmit) {
  for (const SbatchOption& option : sbatch_options()) {
    if (option.verdict != SbatchOption::kHonoured) continue;
    ASSERT_TRUE(find_submit_option(option.name)) << option.name;
    if (*option.alias) EXPECT_TRUE(find_submit_option(option.alias)) << option.name << " " << option.alias;
  }
}

TEST(SbatchOptions, ThePageRepeatsTheTable) {
  const auto page = read_file(source_dir() + "/docs/sbatch.md");
  ASSERT_TRUE(page);
  EXPECT_NE(page->find(sbatch_table()), std::string::npos)
      << "docs/sbatch.md is not the table in src/cli/queue/sbatch_options.cc; it should hold\n"
      << sbatch_table();
}

TEST(ScriptHeader, OurOwnLinesAreStrict) {
  const auto refusal = [](const char* script) {
    const auto header = read_script_header("job.sh", script);
    return header ? std::string("accepted") : header.error().what;
  };
  EXPECT_EQ(refusal("#SMARTMIG --mme 4G\n"),
            "job.sh line 1: #SMARTMIG --mme is not an option of submit, did you mean --mem?");
  EXPECT_NE(refusal("#!/bin/sh\n#SMARTMIG --mem").find("line 2: #SMARTMIG --mem needs a value"), std::string::npos);
  EXPECT_NE(refusal("#SMARTMIG mem 4G").find("is not an option"), std::string::npos);
  EXPECT_NE(refusal("#SBATCH --name 'x").find("unterminated quote"), std::string::npos);
  EXPECT_EQ(refusal(""), "accepted");
}

TEST(ScriptHeader, TheInterpreterIsThatOfTheFirstLine) {
  using List = std::vector<std::string>;
  EXPECT_EQ(read_script_header("j", "#!/bin/bash\n")->interpreter, List{"/bin/bash"});
  EXPECT_EQ(read_script_header("j", "#! /usr/bin/env -S python3 -u\r\n")->interpreter,
            (List{"/usr/bin/env", "-S python3 -u"}));
  EXPECT_TRUE(read_script_header("j", "echo\n#!/bin/sh")->interpreter.empty());
}

}  // namespace
}  // namespace smartmig::cli
