-- Slurm's cli_filter/lua plugin for machines where users submit, beside job_submit.lua (docs/slurm.md).
--
-- srun asks for its gres twice: for the job, where job_submit.lua turns mig:PROFILE into units, and for the step, where no
-- hook can. So --gres=mig:PROFILE becomes a part of the comment here, in srun itself, and the step takes all the job has.

local function moved(options)
  local gres = options["gres"]
  local profile = gres and gres:match("^gres[:/]mig:([%w.+]+)$") or gres and gres:match("^mig:([%w.+]+)$")
  profile = profile or gres and (gres:match("^gres[:/]mig:([%w.+]+):1$") or gres:match("^mig:([%w.+]+):1$"))
  if not profile or profile:match("^%d+$") then
    return
  end
  local comment = options["comment"] or ""
  if comment:find("smartmig:") then
    comment = comment:gsub("smartmig:", "smartmig:profile=" .. profile .. ",", 1)
  else
    comment = (comment == "" and "" or comment .. " ") .. "smartmig:profile=" .. profile
  end
  options["comment"] = comment
  options["gres"] = "none"
end

function slurm_cli_setup_defaults(options, early_pass)
  return slurm.SUCCESS
end

function slurm_cli_pre_submit(options, pack_offset)
  if options["type"] == "srun" and not os.getenv("SLURM_JOB_ID") then
    moved(options)
  end
  return slurm.SUCCESS
end

function slurm_cli_post_submit(offset, job_id, step_id)
  return slurm.SUCCESS
end
