-- Answers a process's request for calls under the limits of a media, in Redis's time. plan.go implements the same in
-- Go, with the reasons.
--
-- KEYS[1]   the moment up to which there may be grants that this Redis does not know of
-- KEYS[2]   the pauses: a hash of points and the moments at which they end, and under "" the number of its changes
-- KEYS[3]   the index of limits: a hash of the names of granted moments, with the time of their last request
-- KEYS[4]   the time of the last request
-- KEYS[5]   the last moments: a hash of the names of granted moments, with the last moment and until when that is
--           kept, and under "" the run id of the server
-- KEYS[2i+4], KEYS[2i+5]   of limit i: the granted moments and their processes (a sorted set, or one number if it has
--           a burst), and the claims (a hash)
-- The last KEYS are, for each limit with calls, how many were granted in each of the last minutes (a hash).
-- ARGV      process, horizon, life of a claim, the longest time without requests, how long nothing is granted after a
--           longer one, 1 if the process was without Redis and 2 if this server has replaced another, the number of
--           the hash KEYS[2] that the process knows, how many limits,
--           for each limit: every, 1 if it has a burst, tolerance, ahead, calls, window,
--           how many settlements, for each of these: the limit and how much more was taken than granted,
--           how many calls will not be made, for each of these: its moment, how many limits, each with the cost,
--           then for each want: importance, weight, group, demand, rows, how many common limits, each with the cost,
--           how many calls, how many limits of its own each has, how many more are expected, when the first of these
--           and how far apart, the costs of a call's own limits, and for each call its rows and its own limits;
--           a cost of 0 is the estimate of the rows that a call matches
--
-- Returns {now, the number of the hash of pauses, the points and ends of the pauses if that number has changed,
--          for each want {rate, by, opens, 1 if a limit is scarce, then for each start the call and when},
--          the run id of the server or ""}
-- Times are microseconds; limits and calls count from 0 and by is -1 for none; the rate is of 1000 s.
--
-- It is one script and not a command per key: between reading one limit and taking from another, a second process
-- could take the same call. The time is the server's own, so that no process's clock matters.

local at = 0
local function arg()
  at = at + 1
  return ARGV[at]
end
local function number() return tonumber(arg()) end

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local process, horizon, life, idleMost, longQuiet = arg(), number(), number(), number(), number()
local absence, known, count = number(), arg(), number()
local back = absence > 0
local function text(n) return string.format('%.0f', n) end
-- A moment is kept with its process: a request that is sent twice must not return what another process was granted in
-- between.
local function member(t) return text(t) .. ' ' .. process end

local info = redis.pcall('INFO', 'server')
local server = ''
if type(info) == 'string' then server = string.match(info, 'run_id:(%w+)') or '' end

local from = tonumber(redis.call('GET', KEYS[1]) or 0) or 0
local lastRequest = tonumber(redis.call('GET', KEYS[4]) or 0) or 0
local owner = redis.call('HGET', KEYS[5], '')
local silent = 0
if from == 0 or back or not owner then
  -- Grants from before a loss of data lie within the horizon, and so do the grants that others make themselves until
  -- they come back.
  silent = horizon
end
if lastRequest > 0 and now - lastRequest > idleMost then
  -- This Redis was paused or unreachable: processes may use their own parts until they have found it again.
  silent = longQuiet
end
if absence == 2 or owner and owner ~= '' and server ~= '' and owner ~= server then
  -- Another server had these keys. It may take writes for some more seconds, and grant calls that this one does not
  -- know of.
  silent = longQuiet
end
if silent > 0 and now + silent > from then
  from = now + silent
  redis.call('SET', KEYS[1], text(from))
end
redis.call('SET', KEYS[4], text(now))
if owner ~= server then redis.call('HSET', KEYS[5], '', server) end

local pauses = {}
local changes = redis.call('HGET', KEYS[2], '') or '0'
if changes ~= known then
  local all = redis.call('HGETALL', KEYS[2])
  for i = 1, #all, 2 do
    if all[i] ~= '' then
      if tonumber(all[i + 1]) > now then
        pauses[#pauses + 1], pauses[#pauses + 2] = all[i], all[i + 1]
      else
        redis.call('HDEL', KEYS[2], all[i])
      end
    end
  end
end

-- The last moment of a limit whose own key has none: a server that is short of memory may have evicted the key.
local function lastOf(l)
  local last = l.minutes and redis.call('HGET', KEYS[5], l.name)
  if not last then return 0 end
  local moment, kept = string.match(last, '(%d+) (%d+)')
  if tonumber(kept) < now then return 0 end
  return tonumber(moment)
end

-- Records a limit's last moment, and for how long its own key is kept.
local function noteLast(l, moment, life)
  if l.minutes then redis.call('HSET', KEYS[5], l.name, moment .. ' ' .. text(now + life * 1000)) end
end

-- A limit is read when a call is tried on it: most limits of a request are never tried.
local function load(l)
  l.loaded = true
  if l.bursts then
    local stored = tonumber(redis.call('GET', l.name) or 0) or 0
    if stored == 0 then stored = lastOf(l) end
    l.ready = math.max(0, math.min(stored, now + horizon + l.ahead))
    l.taken = l.ready < stored
    return
  end
  -- Older moments matter if the window is counted.
  local since = now - l.every
  if l.crowded > 0 then since = now - math.max(l.every, l.window) end
  l.granted = redis.call('ZRANGEBYSCORE', l.name, text(since), '+inf')
  for j = 1, #l.granted do l.granted[j] = tonumber(string.match(l.granted[j], '%d+')) end
  if #l.granted == 0 and not l.returned then l.after = math.max(l.after, lastOf(l) + l.every) end
end

local limits, counted = {}, 2 * count + 5
for i = 0, count - 1 do
  local l = {name = KEYS[2 * i + 6], claimed = KEYS[2 * i + 7], added = {}}
  l.every, l.bursts, l.tolerance, l.ahead = number(), arg() == '1', number(), number()
  l.calls, l.window = number(), number()
  limits[i] = l
  l.after = from + l.every
  local crowded = 0
  if l.calls > 0 then
    counted = counted + 1
    l.minutes = KEYS[counted]
    redis.call('HSET', KEYS[3], l.name, text(now))
    local meta = redis.call('HGET', l.claimed, '')
    local before = 0
    if meta then
      local a, b = string.match(meta, '(%d+) (%d+)')
      before, crowded = tonumber(a), tonumber(b)
    end
    if before > 0 and l.every > before then
      crowded = now + horizon + l.window
    elseif crowded < now then
      crowded = 0
    end
    if before ~= l.every or crowded > 0 then
      redis.call('HSET', l.claimed, '', text(l.every) .. ' ' .. text(crowded))
    end
    redis.call('PEXPIRE', l.claimed, math.ceil((l.window + horizon) / 1000) + 1000)
  end
  l.crowded = crowded
  if l.bursts then load(l) end
end

for _ = 1, number() do
  local l, more = limits[number()], number()
  if not back then
    l.ready = math.max(l.ready, now) + more * l.every
    l.taken = true
  end
end
for _ = 1, number() do
  local t = number()
  for _ = 1, number() do
    local l, cost = limits[number()], number()
    local given = 0
    if not back and not l.bursts then
      for n = 0, cost - 1 do given = given + redis.call('ZREM', l.name, member(t + n * l.every)) end
    end
    l.number = (l.number or 0) - given
    l.returned = l.returned or given > 0
  end
end

-- The claims on a shared limit.
local function claims(l)
  if l.claims then return l.claims end
  l.claims = {}
  local all = redis.call('HGETALL', l.claimed)
  for i = 1, #all, 2 do
    if all[i] ~= '' then
      local weight, demand, most, paid, seen = string.match(all[i + 1], '(%S+) (%d+) (%d+) (%d+) (%d+)')
      local c = {weight = tonumber(weight), demand = tonumber(demand), most = tonumber(most)}
      c.paid, c.seen = tonumber(paid), tonumber(seen)
      c.process = string.match(all[i], '^[^\n]*\n([^\n]*)')
      if c.seen < now - life then
        redis.call('HDEL', l.claimed, all[i])
      else
        l.claims[all[i]] = c
      end
    end
  end
  return l.claims
end

-- A share of nothing.
local rateLeast = 1e-12

local function share(l, me)
  local mine = l.claims[me].weight
  local classes, byWeight, peers = {}, {}, {}
  for who, c in pairs(l.claims) do
    if who ~= me then
      if c.weight == mine then
        peers[#peers + 1] = math.min(c.demand, c.most)
      else
        local class = byWeight[c.weight]
        if not class then
          class = {weight = c.weight, demand = 0}
          byWeight[c.weight] = class
          classes[#classes + 1] = class
        end
        class.demand = class.demand + math.min(c.demand, c.most)
      end
    end
  end
  local left, weights = horizon / l.every, mine
  table.sort(classes, function(a, b) return a.weight < b.weight end)
  for _, c in ipairs(classes) do weights = weights + c.weight end
  local function perWeight(c)
    if c.weight == 0 then return math.huge end
    return c.demand / c.weight
  end
  table.sort(classes, function(a, b)
    local x, y = perWeight(a), perWeight(b)
    if x ~= y then return x < y end
    return a.weight < b.weight
  end)
  for _, c in ipairs(classes) do
    local part = math.min(c.demand, left * c.weight / weights)
    left = left - part
    weights = weights - c.weight
  end
  table.sort(peers)
  for i, demand in ipairs(peers) do
    left = left - math.min(demand, left / (#peers + 2 - i))
  end
  return left
end

local function demand(l)
  local all = 0
  for _, c in pairs(l.claims) do all = all + math.min(c.demand, c.most) end
  return all
end

local function processes(l)
  local seen, n = {}, 0
  for _, c in pairs(l.claims) do
    if not seen[c.process] then
      seen[c.process] = true
      n = n + 1
    end
  end
  return math.max(1, n)
end

-- The index of the first of granted that is not before t.
local function search(granted, t)
  local low, high = 1, #granted + 1
  while low < high do
    local middle = math.floor((low + high) / 2)
    if granted[middle] < t then low = middle + 1 else high = middle end
  end
  return low
end

local function free(l, t, cost)
  if not l.loaded then load(l) end
  t = math.max(t, l.after)
  if l.bursts then return math.max(t, l.ready - math.max(0, l.tolerance - (cost - 1) * l.every)) end
  local granted = l.granted
  local i = search(granted, t)
  if i > 1 then t = math.max(t, granted[i - 1] + l.every) end
  while i <= #granted and granted[i] < t + cost * l.every do
    t = math.max(t, granted[i] + l.every)
    i = i + 1
  end
  local last = math.min(i - 1 - l.calls + cost, i - 1)
  if l.crowded > 0 and last > 0 then t = math.max(t, granted[last] + l.window) end
  return t
end

local function take(l, t, cost)
  l.number = (l.number or 0) + cost
  if l.bursts then
    l.ready = math.max(l.ready, t) + cost * l.every
    l.taken = true
    return
  end
  local i = search(l.granted, t)
  for n = 0, cost - 1 do
    table.insert(l.granted, i + n, t + n * l.every)
    l.added[#l.added + 1] = t + n * l.every
  end
end

local function inStep(l, from)
  if not l.loaded then load(l) end
  if l.bursts or l.every == 0 then return from end
  local i = search(l.granted, from)
  if i == 1 or l.granted[i - 1] < now - l.every then return from end
  local last = l.granted[i - 1]
  return last + math.ceil((from - last) / l.every) * l.every
end

local function costOf(cost, rows)
  if cost == 0 then cost = rows end
  return math.max(1, cost)
end

local function earliest(t, which, costs, rows)
  local by, moved = -1, true
  while moved do
    moved = false
    for n, i in ipairs(which) do
      local next = free(limits[i], t, costOf(costs[n], rows))
      if next > t then t, by, moved = next, i, true end
    end
  end
  return t, by
end

-- All claims are recorded before the first share is computed.
local wants = {}
while at < #ARGV do
  local w = {taken = 0, common = {}, costs = {}, ownCosts = {}, calls = {}}
  w.importance, w.weight, w.group, w.demand, w.rows = arg(), arg(), arg(), number(), number()
  w.who = w.importance .. '\n' .. process .. '\n' .. w.group
  for n = 1, number() do w.common[n], w.costs[n] = number(), number() end
  local calls, own, expected, after, every = number(), number(), number(), number(), number()
  for n = 1, own do w.ownCosts[n] = number() end
  for i = 1, calls do
    w.calls[i] = {rows = number(), from = 0}
    for j = 1, own do w.calls[i][j] = number() end
  end
  for n = 0, expected - 1 do w.calls[calls + n + 1] = {rows = 0, from = now + after + n * every} end
  for n, i in ipairs(w.common) do
    local all = claims(limits[i])
    if not all[w.who] then all[w.who] = {process = process, most = 2147483647, paid = now} end
    local c = all[w.who]
    c.weight, c.demand, c.seen = tonumber(w.weight), w.demand * costOf(w.costs[n], w.rows), now
  end
  wants[#wants + 1] = w
end

for _, w in ipairs(wants) do
  w.fair, w.soon, w.held, w.rate, w.rates = #w.calls, now + horizon, -1, 0, {}
  w.free, w.over, w.starts, w.scarce = now, {}, {}, 0
  for i, index in ipairs(w.common) do
    local l = limits[index]
    local c = l.claims[w.who]
    local rate = math.max(rateLeast, share(l, w.who) / horizon)
    c.paid = math.max(c.paid, now - math.floor(costOf(w.costs[i], w.rows) / rate))
    local part = rate * (now + horizon - c.paid) / costOf(w.costs[i], w.rows)
    if part < w.fair then w.fair, w.held = part, index end
    w.soon = math.min(w.soon, now + math.floor(horizon / processes(l)))
    if demand(l) * l.every >= horizon then w.scarce = 1 end
    local r = rate / costOf(w.costs[i], w.rows) * 1000000
    if w.rate == 0 or r < w.rate then w.rate = r end
    w.rates[i] = rate
  end
  w.fair = math.floor(math.max(0, w.fair))
end

-- Grants calls of a want that start by last, until most are granted in total.
local function grant(w, last, most)
  w.by, w.opens = -1, 0
  for i, own in ipairs(w.calls) do
    if not w.over[i] then
      if #w.starts >= most then return end
      local by
      local from = own.from
      if from > 0 then
        for _, index in ipairs(w.common) do from = math.max(from, inStep(limits[index], own.from)) end
      end
      w.free, by = earliest(math.max(w.free, from), w.common, w.costs, own.rows)
      if by >= 0 then w.held = by end
      if w.free > last and own.from > 0 then return end
      if w.free > last then
        w.by, w.opens = w.held, w.free
        return
      end
      local t
      t, by = w.free, -1
      while true do
        local mine, b = earliest(t, own, w.ownCosts, own.rows)
        if b >= 0 then by = b end
        t = earliest(mine, w.common, w.costs, own.rows)
        if t == mine then break end
      end
      if t > last then
        if w.by < 0 then w.by, w.opens = by, t end
      else
        for n, index in ipairs(w.common) do take(limits[index], t, costOf(w.costs[n], own.rows)) end
        for n, index in ipairs(own) do take(limits[index], t, costOf(w.ownCosts[n], own.rows)) end
        w.taken = w.taken + own.rows
        w.over[i] = true
        w.starts[#w.starts + 1] = {i - 1, t - now}
      end
    end
  end
end

for _, w in ipairs(wants) do grant(w, now + horizon, w.fair) end
for _, w in ipairs(wants) do grant(w, w.soon, #w.calls) end

local answers = {}
for n, w in ipairs(wants) do
  for i, index in ipairs(w.common) do
    local c = limits[index].claims[w.who]
    c.most = 2147483647
    for j, rate in ipairs(w.rates) do
      if j ~= i then
        local calls = math.floor(rate * horizon / costOf(w.costs[j], w.rows)) + 1
        c.most = math.min(c.most, calls * costOf(w.costs[i], w.rows))
      end
    end
    local taken = #w.starts * w.costs[i]
    if taken == 0 then taken = w.taken end
    c.paid = math.min(c.paid + math.floor(taken / w.rates[i]), now + 2 * horizon)
    local claim = tostring(c.weight) .. ' ' .. text(c.demand) .. ' ' .. text(c.most)
    redis.call('HSET', limits[index].claimed, w.who, claim .. ' ' .. text(c.paid) .. ' ' .. text(c.seen))
  end
  local opens = 0
  if w.opens > 0 then opens = w.opens - now end
  answers[n] = {math.ceil(w.rate * 1000), w.by, opens, w.scarce}
  for _, s in ipairs(w.starts) do
    answers[n][#answers[n] + 1] = s[1]
    answers[n][#answers[n] + 1] = s[2]
  end
end

local minute = math.floor(now / 60000000)
for i = 0, count - 1 do
  local l = limits[i]
  if l.minutes and l.number and l.number ~= 0 then
    redis.call('HINCRBY', l.minutes, text(minute), l.number)
    redis.call('HDEL', l.minutes, text(minute - 61), text(minute - 62))
    redis.call('PEXPIRE', l.minutes, 3720000)
  end
  if l.taken then
    local life = math.max(0, math.ceil((l.ready - now) / 1000)) + 1000
    redis.call('SET', l.name, text(l.ready), 'PX', life)
    noteLast(l, text(l.ready), life)
  end
  for j = 1, #l.added do
    redis.call('ZADD', l.name, text(l.added[j]), member(l.added[j]))
  end
  if #l.added > 0 or l.returned then
    -- If a window has less than one call, a call keeps the next one away for longer than the window.
    local kept = math.max(l.window, l.every)
    local life = math.ceil((kept + horizon) / 1000) + 1000
    redis.call('ZREMRANGEBYSCORE', l.name, '-inf', '(' .. text(now - kept))
    redis.call('PEXPIRE', l.name, life)
    local last = redis.call('ZRANGE', l.name, -1, -1)[1]
    noteLast(l, last and string.match(last, '%d+') or '0', life)
  end
end
return {now, changes, pauses, answers, server}
