-- A consumer's report on a lane whose workers are limited. It answers with the number of consumers that are known and
-- the partitions of the caller of which one subtask each may begin now.
--
-- KEYS: the reports, a hash by consumer of "number running room ends"; the waiting partitions, a sorted set of
-- "partition@consumer" in the order of their numbers; the last of these numbers.
-- ARGV: consumer, number of the report, running, room, limit, ttl in milliseconds, and the partitions that wait.
local reports, waiting, numbers = KEYS[1], KEYS[2], KEYS[3]
local me, number, limit = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[5])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local running, known = tonumber(ARGV[3]), 1
local room = {[me] = tonumber(ARGV[4])}
local all = redis.call('HGETALL', reports)
for i = 1, #all, 2 do
  local consumer = all[i]
  local last, runs, has, ends = string.match(all[i + 1], '^(%d+) (%d+) (%d+) (%d+)$')
  if consumer == me then
    if tonumber(last) >= number then
      return {0} -- A request that was given up arrives late.
    end
  elseif tonumber(ends) < now then
    redis.call('HDEL', reports, consumer)
  else
    running, known = running + runs, known + 1
    room[consumer] = tonumber(has)
  end
end

-- The caller's partitions keep their places while they wait. Those of consumers that are gone lose them.
local wanted = {}
for i = 7, #ARGV do
  wanted[ARGV[i] .. '@' .. me] = true
end
local function consumerOf(place)
  return string.match(place, '@(.*)$')
end
for _, place in ipairs(redis.call('ZRANGE', waiting, 0, -1)) do
  if wanted[place] then
    wanted[place] = nil
  elseif consumerOf(place) == me or not room[consumerOf(place)] then
    redis.call('ZREM', waiting, place)
  end
end
for i = 7, #ARGV do
  local place = ARGV[i] .. '@' .. me
  if wanted[place] then
    redis.call('ZADD', waiting, redis.call('INCR', numbers), place)
  end
end

-- Free places go to those who wait longest. Places of others are kept for them: they ask soon.
local answer, free, mine = {known}, limit - running, tonumber(ARGV[3])
for _, place in ipairs(redis.call('ZRANGE', waiting, 0, -1)) do
  local consumer = consumerOf(place)
  if free <= 0 then
    break
  end
  if room[consumer] > 0 then
    room[consumer], free = room[consumer] - 1, free - 1
    if consumer == me then
      redis.call('ZREM', waiting, place)
      mine = mine + 1
      answer[#answer + 1] = tonumber(string.match(place, '^(%d+)@'))
    end
  end
end

if limit == 0 then
  redis.call('HDEL', reports, me)
else
  redis.call('HSET', reports, me, string.format('%d %d %d %.0f', number, mine, room[me], now + ARGV[6]))
end
for _, key in ipairs(KEYS) do
  redis.call('PEXPIRE', key, 60000)
end
return answer
