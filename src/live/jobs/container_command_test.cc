#include "live/jobs/container_command.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "live/jobs/launch_block.h"
#include "live/jobs/process_runner.h"
#include "support/temp_dir.h"

namespace smartmig {
namespace {

using Words = std::vector<std::string>;

Launch in_container(const std::string& image, const std::string& runtime) {
  Launch launch;
  launch.id = {12, 1};
  launch.uid = 1000;
  launch.gid = 1000;
  launch.device = "MIG-7";
  launch.spec.command = {"python3", "train.py"};
  launch.spec.directory = "/u/anna/x";
  launch.spec.container = image;
  launch.spec.container_runtime = runtime;
  launch.slice = {{"CUDA_VISIBLE_DEVICES", "MIG-7"}, {"SMARTMIG_JOB_ID", "12"}};
  return launch;
}

struct Entered {
  Words arguments, environment;
  bool has(const Words& words) const {
    return std::search(arguments.begin(), arguments.end(), words.begin(), words.end()) != arguments.end();
  }
  bool sets(const std::string& entry) const {
    return std::find(environment.begin(), environment.end(), entry) != environment.end();
  }
};

Entered enter(const Launch& launch, bool rootless = true, ContainerDevice device = {"nvidia.com/gpu=MIG-7"}) {
  Entered out{arguments_of(launch), environment_of(launch, "", "12.1-a")};
  enter_container(launch, {"/state/12.1", std::move(device), rootless}, out.arguments, out.environment);
  return out;
}

TEST(ContainerCommand, PodmanSeesTheSliceByItsCdiNameAndNothingElse) {
  const Entered got = enter(in_container("pytorch:2", "podman"));
  EXPECT_EQ(Words(got.arguments.begin(), got.arguments.begin() + 7),
            (Words{"/usr/bin/unshare", "--user", "--map-root-user", "--mount", "--", "/bin/sh", "-c"}));
  EXPECT_TRUE(got.has({"--device", "nvidia.com/gpu=MIG-7"}));
  EXPECT_EQ(std::count(got.arguments.begin(), got.arguments.end(), "--device"), 1);
  EXPECT_TRUE(got.has({"--env", "CUDA_VISIBLE_DEVICES=MIG-7"}));
  EXPECT_TRUE(got.has({"--env", "NVIDIA_VISIBLE_DEVICES=void"}));  // an image of NVIDIA's says all
  EXPECT_TRUE(got.has({"--cgroups=disabled"}));                    // it stays in the job's
  EXPECT_TRUE(got.has({"--volume", "/u/anna/x:/u/anna/x"}));
  EXPECT_TRUE(got.has({"--workdir", "/u/anna/x", "pytorch:2", "python3", "train.py"}));
  EXPECT_TRUE(got.has({"smartmig-container", "pytorch:2", "--rm"}));  // its environment is read before
  EXPECT_EQ(got.arguments.back(), "train.py");
  EXPECT_TRUE(got.sets("SMARTMIG_CONTAINER_DIR=/state/12.1"));
  EXPECT_TRUE(got.has({"--user=0:0"}));  // one user id is all that is mapped without new privileges
  EXPECT_TRUE(enter(in_container("i", "podman"), true, {"", "MIG-7"}).has({"--env", "NVIDIA_VISIBLE_DEVICES=MIG-7"}));
}

TEST(ContainerCommand, WithNewPrivilegesAllUserIdsAreMapped) {
  Launch launch = in_container("i", "podman");
  launch.new_privileges = true;
  EXPECT_TRUE(enter(launch).has({"--map-root-user", "--mount", "--map-auto", "--"}));
  EXPECT_FALSE(enter(launch).has({"--user=0:0"}));
  const Entered root = enter(launch, false);
  EXPECT_EQ(root.arguments[0], "/bin/sh");
  EXPECT_FALSE(root.has({"--map-auto"}));
}

TEST(ContainerCommand, MountsScriptsAndTheHomeDirectory) {
  Launch launch = in_container("i", "podman");
  launch.home = "/u/anna";
  launch.spec.container_mounts = {"/data:/mnt:ro", "/scratch"};
  EXPECT_TRUE(enter(launch).has({"--volume", "/data:/mnt:ro"}));
  EXPECT_TRUE(enter(launch).has({"--volume", "/scratch:/scratch"}));
  EXPECT_FALSE(enter(launch).has({"--env", "HOME=/root"})) << "the working directory lies in it";
  launch.spec.directory = "/work";
  EXPECT_TRUE(enter(launch).has({"--env", "HOME=/root"}));
  launch.spec.container_mounts.push_back("/other:/work");
  EXPECT_FALSE(enter(launch).has({"--volume", "/work:/work"})) << "what the owner mounts there wins";
  launch.spec.script = "#!/bin/bash\necho\n";
  launch.spec.command = {"/bin/bash", "a"};
  EXPECT_TRUE(enter(launch).has({"--preserve-fds=1"}));
  EXPECT_TRUE(enter(launch).has({"i", "/bin/bash", kScriptPath, "a"}));
}

TEST(ContainerCommand, ApptainerGetsItsVariablesByItsPrefix) {
  const Entered got = enter(in_container("/i/torch.sif", "apptainer"));
  EXPECT_EQ(got.arguments, (Words{"apptainer", "exec", "--nv", "--userns", "--bind", "/u/anna/x:/u/anna/x", "--pwd",
                                  "/u/anna/x", "/i/torch.sif", "python3", "train.py"}));
  EXPECT_TRUE(got.sets("APPTAINERENV_CUDA_VISIBLE_DEVICES=MIG-7"));
  EXPECT_TRUE(enter(in_container("x", "singularity")).sets("SINGULARITYENV_CUDA_VISIBLE_DEVICES=MIG-7"));
}

TEST(ContainerCommand, TheRuntimeFollowsFromTheImageUnlessItIsNamed) {
  JobSpec spec;
  spec.container = "/images/torch.sif";
  EXPECT_EQ(container_runtime(spec, "podman"), "apptainer");
  EXPECT_EQ(container_runtime(spec, "singularity"), "singularity");
  spec.container = "docker://debian";
  EXPECT_EQ(container_runtime(spec, "podman"), "apptainer");
  spec.container = "docker.io/library/debian:12";
  EXPECT_EQ(container_runtime(spec, "podman"), "podman");
  EXPECT_EQ(container_runtime(spec, "apptainer"), "apptainer");
  spec.container_runtime = "singularity";
  EXPECT_EQ(container_runtime(spec, "podman"), "singularity");
}

TEST(ContainerCommand, TheSliceIsFoundByItsUuidOrNotAtAll) {
  const TempDir dir;
  const ContainerHost host{{dir.path() + "/etc", dir.path() + "/run"}, {dir.path() + "/hooks"}};
  for (const char* folder : {"/run", "/hooks"}) std::filesystem::create_directory(dir.path() + folder);
  dir.file("run/nvidia.yaml", "kind: nvidia.com/gpu\ndevices:\n- name: \"0:0\"\n- name: MIG-7\n- name: all\n");
  const auto found = container_device("MIG-7", host);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->cdi, "nvidia.com/gpu=MIG-7");
  const auto missing = container_device("MIG-8", host);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Error::kUnsupported);
  EXPECT_NE(missing.error().what.find("names MIG-8"), std::string::npos) << missing.error().what;
  dir.file("hooks/oci-nvidia-hook.json", "{}");
  const auto by_hook = container_device("MIG-8", host);
  ASSERT_TRUE(by_hook);
  EXPECT_TRUE(by_hook->cdi.empty());
  EXPECT_EQ(by_hook->visible, "MIG-8");
}

TEST(ContainerCommand, WhatCannotGoWithAContainerIsRefused) {
  const auto refusal = [](const std::string& more) {
    const auto spec = parse_job_spec("{\"command\":[\"a\"]," + more + "}", UnixTime{});
    return spec ? "accepted" : spec.error().what;
  };
  EXPECT_EQ(refusal(R"("container":"i","container_mounts":["/a:/b:ro"],"container_runtime":"podman")"), "accepted");
  EXPECT_NE(refusal(R"("container":"-x")").find("not the name of an image"), std::string::npos);
  EXPECT_NE(refusal(R"("container":"i","container_runtime":"docker")").find("known are podman"), std::string::npos);
  EXPECT_NE(refusal(R"("container":"i","container_mounts":["a:/b"])").find("absolute paths"), std::string::npos);
  EXPECT_NE(refusal(R"("container":"i","container_mounts":["/a:/"])").find("replace the image"), std::string::npos);
  EXPECT_NE(refusal(R"("container":"i","pty":true)").find("terminal"), std::string::npos);
  EXPECT_NE(refusal(R"("container":"i","exact_memory":true)").find("--exact-memory"), std::string::npos);
  EXPECT_NE(refusal(R"("container_runtime":"podman")").find("need a container"), std::string::npos);
}

}  // namespace
}  // namespace smartmig
