-- Grants up to n calls under all keys or none, in Redis's time.
--
-- KEYS[i]               where key i keeps the time, in microseconds, at which its calls so far are used up
-- ARGV[1]               n, how many calls are asked for
-- ARGV[2]               how far ahead a call may start, in microseconds
-- ARGV[1+2i], ARGV[2+2i] every and tolerance of key i in microseconds; an every of 0 only looks (a point of pausing)
--
-- Returns {how long until one more could be granted, in microseconds; the index of the key that this waits for, or 0;
-- then for each granted call how long until it starts, in microseconds}.
--
-- One script and not a command per key: between the look at one limit and the take from another a second process would
-- take the same call. The time is the server's own, so that no process's clock matters.

local n, ahead = tonumber(ARGV[1]), tonumber(ARGV[2])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

local ready, every, tolerance = {}, {}, {}
for i, value in ipairs(redis.call('MGET', unpack(KEYS))) do
  every[i], tolerance[i] = tonumber(ARGV[1 + 2 * i]), tonumber(ARGV[2 + 2 * i])
  ready[i] = tonumber(value or 0) or 0
  -- No grant goes further than this: it is left from a lower limit, or from a clock that was set back.
  if every[i] > 0 then
    ready[i] = math.min(ready[i], now + ahead + tolerance[i] + every[i])
  end
end

local answer = {0, 0}
local granted = 0
while true do
  local slot, by = now, 0
  for i = 1, #KEYS do
    if ready[i] - tolerance[i] > slot then
      slot, by = ready[i] - tolerance[i], i
    end
  end
  local retry = slot - ahead - now
  if retry > 0 then
    answer[1], answer[2] = retry, by
  end
  if retry > 0 or granted == n then
    break
  end
  granted = granted + 1
  answer[2 + granted] = slot - now
  for i = 1, #KEYS do
    if every[i] > 0 then
      ready[i] = math.max(ready[i], slot) + every[i]
    end
  end
end

if granted > 0 then
  for i, key in ipairs(KEYS) do
    if every[i] > 0 then
      -- A key is dropped once it no longer matters, and a second later, lest a coarse expiry forget calls.
      redis.call('SET', key, string.format('%.0f', ready[i]), 'PX', math.ceil((ready[i] - now) / 1000) + 1000)
    end
  end
end
return answer
