-- Slurm's job_submit/lua hook for partitions whose GPUs smartmig carves (docs/slurm.md).
--
-- A job of such a partition says how much of a GPU it needs:
--     --comment=smartmig:mem=18G,deadline=2h,estimate=20m      or      --gres=mig:3g.20gb
-- Here that becomes units of the gres `mig` (memory slices, so that Slurm never starts more than the GPUs hold) and a
-- request that only operators can change (AdminComment). The job is held; `smartmig slurm serve` makes its slice, pins it
-- to the node and releases it. Jobs of other partitions are not looked at.
--
-- Beside this file lies smartmig_units.lua, written by `smartmig slurm config`.

local function load_units()
  local here = debug.getinfo(1, "S").source:match("^@(.*/)") or "/etc/slurm/"
  local chunk, problem = loadfile(here .. "smartmig_units.lua")
  if not chunk then
    chunk, problem = loadfile("/etc/slurm/smartmig_units.lua")
  end
  if not chunk then
    return nil, problem
  end
  return chunk()
end
local units, units_problem = load_units()

local MOST_MIB, MOST_SECONDS = 67108864, 1e9

-- "18G", "512M", "1.5T", "20480" (MiB), with or without B or iB: MiB, rounded up.
local function mib_of(text)
  local number, unit = text:match("^(%d+%.?%d*)([KkMmGgTt]?)[iI]?[bB]?$")
  if not number then
    return nil
  end
  local factor = ({ k = 1 / 1024, m = 1, g = 1024, t = 1048576 })[unit:lower()] or 1
  local mib = math.ceil(tonumber(number) * factor)
  if mib < 1 or mib > MOST_MIB then
    return nil
  end
  return mib
end

-- "90s", "20m", "1.5h", "2d", "30" (seconds).
local function seconds_of(text)
  local number, unit = text:match("^(%d+%.?%d*)([smhd]?)$")
  if not number then
    return nil
  end
  local s = math.floor(tonumber(number) * (({ s = 1, m = 60, h = 3600, d = 86400 })[unit] or 1) + 0.5)
  if s > MOST_SECONDS then
    return nil
  end
  return s
end

local READERS = {
  mem = { mib_of, "an amount of GPU memory such as 18G" },
  slices = {
    function(text)
      local n = text:match("^%d$") and tonumber(text)
      return n and n >= 1 and n <= 8 and n or nil
    end,
    "a number of compute slices from 1 to 8",
  },
  deadline = { seconds_of, "a time from the submission on, such as 2h" },
  estimate = { seconds_of, "the expected time on a whole GPU, such as 20m" },
  restart = { seconds_of, "what saving and going on takes, such as 30s" },
  kind = {
    function(text)
      return #text <= 64 and text:match("^[%w_.+-]+$") or nil
    end,
    "a kind of smartmig's tables",
  },
  profile = {
    function(text)
      return units.profiles[text] and text or nil
    end,
    "a MIG profile of this cluster",
  },
}

-- The request in a comment: a table, an empty one where the comment has none; or nil and what is wrong.
local function request_in(comment)
  local request = {}
  local text = (comment or ""):match("smartmig:([^%s;]*)")
  if not text then
    return request
  end
  if #text > 400 then
    return nil, "the part after smartmig: is too long"
  end
  for item in (text .. ","):gmatch("([^,]*),") do
    local key, value = item:match("^([a-z]+)=(.*)$")
    local reader = key and READERS[key]
    if not reader then
      return nil, string.format("'%s' is not understood; keys are mem, slices, profile, deadline, estimate, restart, kind", item)
    end
    if request[key] ~= nil then
      return nil, string.format("'%s' is given twice", key)
    end
    request[key] = reader[1](value)
    if request[key] == nil then
      return nil, string.format("%s=%s is not %s", key, value, reader[2])
    end
  end
  return request
end

local function profile_names()
  local names = {}
  for name in pairs(units.profiles) do
    names[#names + 1] = name
  end
  table.sort(names)
  return table.concat(names, ", ")
end

-- Adds what --gres=mig:... says. "gres:mig:3g.20gb", "gres/mig:3g.20gb:1", "gres:mig:4".
local function add_gres(request, gres)
  if gres == nil or gres == "" or gres:match("^gres[:/]none$") then -- cli_filter.lua
    return true
  end
  local rest = gres:match("^gres[:/]mig:(.+)$") or gres:match("^mig:(.+)$")
  if not rest or rest:find(",") then
    return nil, string.format("--gres=%s: in this partition ask for one slice, as mig:3g.20gb", (gres:gsub("^gres[:/]", "")))
  end
  local count = rest:match("^(%d+)$")
  if count then
    request.units = tonumber(count)
    if request.units < 1 or request.units > units.most then
      return nil, string.format("--gres=mig:%s: a GPU of this cluster has %d memory slices", count, units.most)
    end
    return true
  end
  local profile = rest:gsub(":1$", "")
  if profile:find(":") then
    return nil, string.format("--gres=mig:%s: a job gets one slice, because a CUDA process can use one MIG device", rest)
  end
  if not units.profiles[profile] then
    return nil, string.format("--gres=mig:%s: this cluster has the profiles %s", rest, profile_names())
  end
  if request.profile and request.profile ~= profile then
    return nil, "the profile of --comment and that of --gres differ"
  end
  request.profile = profile
  return true
end

-- The units that the job takes at least, on whatever slice it is put; and the request for AdminComment.
local function resolve(request)
  local mem, slices = request.mem or 0, request.slices or 1
  if request.profile then
    local profile = units.profiles[request.profile]
    mem, slices = math.max(mem, profile.mem), math.max(slices, profile.slices)
  end
  local least, least_mem
  for _, profile in pairs(units.profiles) do
    if profile.mem >= mem and profile.slices >= slices and profile.units >= (request.units or 1) then
      least = math.min(least or profile.units, profile.units)
      least_mem = math.min(least_mem or profile.mem, profile.mem)
    end
  end
  if not least then
    return nil, string.format("no slice of this cluster has %d MiB and %d compute slices; the largest has %d MiB", mem, slices,
      units.most_mem)
  end
  if request.units then
    mem = math.max(mem, least_mem)
  end
  local text = string.format("smartmig:mem=%dM,slices=%d", mem, slices)
  for _, key in ipairs({ "deadline", "estimate", "restart" }) do
    if request[key] then
      text = text .. string.format(",%s=%ds", key, request[key])
    end
  end
  if request.kind then
    text = text .. ",kind=" .. request.kind
  end
  if request.node then
    text = text .. ",node=" .. request.node
  end
  return least, text
end

-- A job that its owner holds says so in its comment: to Slurm all jobs here are held.
local HOLD = "smartmig-hold"
local function held_comment(comment, held)
  local rest = (comment or ""):gsub("%s*smartmig%-hold", "")
  if not held then
    return rest
  end
  return rest == "" and HOLD or rest .. " " .. HOLD
end

local function ours(partitions)
  local some, all = false, true
  for name in (partitions or ""):gmatch("[^,]+") do
    if units.partitions[name] then
      some = true
    else
      all = false
    end
  end
  return some, all
end

local function refuse(words)
  slurm.log_user("%s", "smartmig: " .. words)
  return slurm.ERROR
end

local function given(number)
  return number ~= nil and number ~= slurm.NO_VAL and number ~= slurm.NO_VAL64 and number ~= slurm.NO_VAL16
end

local function asks_elsewhere(job)
  for _, field in ipairs({ "tres_per_job", "tres_per_socket", "tres_per_task" }) do
    if job[field] and job[field] ~= "" and job[field]:find("gres") then
      return true
    end
  end
  return false
end

local function judge(job, comment, gres)
  local request, problem = request_in(comment)
  if request then
    local fine
    fine, problem = add_gres(request, gres)
    if not fine then
      request = nil
    end
  end
  if not request then
    return nil, problem
  end
  if not (request.mem or request.profile or request.slices or request.units) then
    return nil, "say how much of a GPU the job needs: --comment=smartmig:mem=18G or --gres=mig:" .. units.example
  end
  if asks_elsewhere(job) then
    return nil, "ask with --gres=mig:PROFILE or --comment=smartmig:mem=...; other options for GPUs are not understood here"
  end
  if job.req_nodes and job.req_nodes ~= "" then
    if #job.req_nodes > 64 or not job.req_nodes:match("^[%w_.-]+$") then
      return nil, string.format("-w %s: name one node; a job runs on one slice of one node", job.req_nodes)
    end
    request.node = job.req_nodes
  end
  if given(job.min_nodes) and job.min_nodes > 1 then
    return nil, "a job runs on one slice of one node"
  end
  return resolve(request)
end

-- What is not ours in an AdminComment stays.
local function admin_comment(old, request)
  local rest = (old or ""):gsub("smartmig:[^%s;]*[%s;]*", "")
  return rest == "" and request or request .. " " .. rest
end

function slurm_job_submit(job, part_list, uid)
  if not units then
    slurm.log_error("%s", "smartmig: smartmig_units.lua: " .. tostring(units_problem))
    return slurm.SUCCESS
  end
  local partition = job.partition
  if partition == nil then
    for name, part in pairs(part_list) do
      if part.flag_default == 1 then
        partition = name
      end
    end
  end
  local some, all = ours(partition)
  if not some then
    return slurm.SUCCESS
  end
  if not all then
    return refuse("a job of the partition " .. partition .. " cannot wait in others too")
  end
  local count, request = judge(job, job.comment, job.tres_per_node)
  if not count then
    return refuse(request)
  end
  job.tres_per_node = units.gres_prefix .. "mig:" .. count
  job.admin_comment = admin_comment(job.admin_comment, request)
  job.max_nodes = 1
  if job.priority == 0 then
    job.comment = held_comment(job.comment, true)
  end
  job.priority = 0 -- held: released by smartmig once its slice is there
  return slurm.SUCCESS
end

function slurm_job_modify(job, old, part_list, uid)
  if not units or units.operators[uid] then
    return slurm.SUCCESS
  end
  local before = ours(old.partition)
  if job.partition ~= nil and job.partition ~= old.partition then
    if before or ours(job.partition) then
      return refuse("a job cannot move into or out of the partitions that smartmig fills; submit it again")
    end
  end
  if not before then
    return slurm.SUCCESS
  end
  if job.req_nodes ~= nil and job.req_nodes ~= "" then
    return refuse("the node is chosen with the slice")
  end
  if job.tres_per_node ~= nil or (job.comment ~= nil and job.comment:find("smartmig:")) then
    local count, request = judge(job, job.comment or old.comment, job.tres_per_node)
    if not count then
      return refuse(request)
    end
    local node = (old.admin_comment or ""):match("smartmig:[^%s;]*,node=([%w_.-]+)")
    if node then
      request = request .. ",node=" .. node -- of the submission
    end
    job.tres_per_node = units.gres_prefix .. "mig:" .. count
    job.admin_comment = admin_comment(old.admin_comment, request)
  end
  if given(job.priority) then -- held, or released: then it waits for its slice
    job.comment = held_comment(job.comment or old.comment, job.priority == 0)
    job.priority = 0
  end
  return slurm.SUCCESS
end

slurm.log_info("smartmig: job_submit.lua is loaded")
return slurm.SUCCESS
