import { FORGOTTEN_MS, RECOVERY_MS, SAME_WINDOW_MS } from './reservations.ts'

// The scripts do what `memory-reservations.ts` does; a test compares both. Keys, each behind a prefix:
//
// - `{counter}`: a hash with `used`, `reserved`, `end` (of its window, in milliseconds by the clock of Redis;
//   0 without a window), `sum` (1 if `used` has what was used before), `before` and `generation`
// - `{counter}:open`: a sorted set of its open reservations, `{id}:{amount}` by the time when they end
// - `{counter}:registered`: the ids of what was registered in this generation, until the sum is known
// - `@generation`: a hash with `id`, `run`, `since`, `renewed`, `peers`, `ready` and `over`
// - `@members`: a hash with the generation and the last command of each member
// - `@leases`, `@awaited`: sorted sets of members by the time when their lease, or the wait for them, ends
//
// All keys of a counter expire with its window. Without a window they expire when no reservation can be open
// any more, if nothing was used. See docs/decisions/limits.md, "Reservations in Redis".

/** KEYS[1]: the prefix of the keys with `@`; the others: counters. ARGV: run, member, generation, order. */
const COMMON = (clock: string) => `
${clock}
local at = KEYS[1]
local run, own, known, order = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local current = redis.call('HMGET', at .. '@generation', 'id', 'run', 'renewed', 'ready', 'over')
local function follows(last)
  if last and tonumber(last) >= order then return false end
  redis.call('HSET', at .. '@members', own .. ':order', order)
  return true
end
local function lost()
  return current[5] == '1' or current[2] ~= run or now - tonumber(current[3]) > ${RECOVERY_MS.silence}
end
local function accepts()
  local member = redis.call('HMGET', at .. '@members', own, own .. ':order')
  if current[1] ~= known or member[1] ~= known then return false end
  return not lost() and follows(member[2])
end
local function ready()
  if current[4] == '1' then return true end
  redis.call('ZREMRANGEBYSCORE', at .. '@awaited', '-inf', now)
  if redis.call('ZCARD', at .. '@awaited') > 0 then return false end
  local generation = redis.call('HMGET', at .. '@generation', 'peers', 'since')
  if generation[1] ~= '1' and now < tonumber(generation[2]) + ${RECOVERY_MS.grace} then return false end
  redis.call('HSET', at .. '@generation', 'ready', 1)
  current[4] = '1'
  return true
end
local function remove(counter)
  redis.call('DEL', counter, counter .. ':open', counter .. ':registered')
end
local function read(counter)
  local fields = redis.call('HMGET', counter, 'used', 'reserved', 'end', 'sum', 'before', 'generation')
  if not fields[1] then return nil end
  local found = { used = tonumber(fields[1]), reserved = tonumber(fields[2]), finish = tonumber(fields[3]) }
  found.sum, found.before, found.generation = fields[4] == '1', tonumber(fields[5]), fields[6]
  if found.finish > 0 and found.finish <= now then
    remove(counter)
    return nil
  end
  return found
end
local function find(counter)
  local found = read(counter)
  if not found then return nil end
  if found.generation ~= current[1] then
    redis.call('DEL', counter .. ':open', counter .. ':registered')
    if found.sum then found.before = found.used end
    found.used, found.reserved, found.sum = 0, 0, false
    redis.call('HSET', counter, 'used', 0, 'reserved', 0, 'sum', 0, 'before', found.before,
      'generation', current[1])
  end
  return found
end
local function inWindow(counter, window)
  local found = find(counter)
  if found and window ~= -1 and math.abs(found.finish - window) >= ${SAME_WINDOW_MS} then return nil end
  return found
end
local function create(counter, finish)
  redis.call('HSET', counter, 'used', 0, 'reserved', 0, 'end', finish, 'sum', 0, 'before', 0,
    'generation', current[1])
  return { used = 0, reserved = 0, finish = finish, sum = false, before = 0 }
end
local function findOrCreate(counter, window)
  local found = inWindow(counter, window)
  if found or redis.call('EXISTS', counter) == 1 or (window ~= 0 and now >= window) then return found end
  return create(counter, window)
end
local function missingSum(found, initial)
  if found.sum then return 0 end
  return math.max(initial or 0, found.before - found.used)
end
local function addSum(counter, found, initial)
  if found.sum then return end
  found.used = found.used + missingSum(found, initial)
  found.sum = true
  redis.call('HSET', counter, 'used', found.used, 'sum', 1)
  redis.call('DEL', counter .. ':registered')
end
local function describe(found)
  local reset = 0
  if found.finish > 0 then reset = found.finish - now end
  return found.used, found.reserved, reset, found.finish
end
local function keep(counter, found)
  local parts = { counter, counter .. ':open', counter .. ':registered' }
  if found.finish > 0 then
    for _, key in ipairs(parts) do redis.call('PEXPIREAT', key, found.finish) end
  elseif found.used + found.before > 0 then
    for _, key in ipairs(parts) do redis.call('PERSIST', key) end
  elseif redis.call('EXISTS', parts[2], parts[3]) == 0 then
    remove(counter)
  else
    for _, key in ipairs(parts) do redis.call('PEXPIRE', key, ${FORGOTTEN_MS}) end
  end
end
local function keepOpen(counter, id, amount, window, isNew, hold)
  local member = id .. ':' .. amount
  local found
  if isNew then found = findOrCreate(counter, window) else found = inWindow(counter, window) end
  if not found then return end
  if redis.call('ZSCORE', counter .. ':open', member) then
    redis.call('ZADD', counter .. ':open', now + hold, member)
  elseif isNew and redis.call('SADD', counter .. ':registered', id) == 1 then
    redis.call('ZADD', counter .. ':open', now + hold, member)
    redis.call('HINCRBY', counter, 'reserved', amount)
  end
  keep(counter, found)
end
local function membership()
  local gone = redis.call('ZRANGEBYSCORE', at .. '@leases', '-inf', now - ${FORGOTTEN_MS})
  for _, member in ipairs(gone) do
    redis.call('HDEL', at .. '@members', member, member .. ':order')
    redis.call('ZREM', at .. '@leases', member)
  end
  local result = { current[1], ready() and '1' or '0' }
  local isPeer = {}
  local function add(member, finish)
    if member == own or isPeer[member] then return end
    isPeer[member] = true
    result[#result + 1] = member
    result[#result + 1] = tostring(tonumber(finish) - now)
  end
  local awaited = redis.call('ZRANGEBYSCORE', at .. '@awaited', '(' .. now, '+inf', 'WITHSCORES')
  for i = 1, #awaited, 2 do add(awaited[i], awaited[i + 1]) end
  local alive = redis.call('ZRANGEBYSCORE', at .. '@leases', '(' .. now, '+inf', 'WITHSCORES')
  for i = 1, #alive, 2 do
    if redis.call('HGET', at .. '@members', alive[i]) == current[1] then add(alive[i], alive[i + 1]) end
  end
  return result
end`

/** Behind the common arguments: lease, hold, then id, amount and window of each counter. Nil: has to join. */
const RENEW = `
local lease, hold = tonumber(ARGV[5]), tonumber(ARGV[6])
if not accepts() then return false end
redis.call('HSET', at .. '@generation', 'renewed', now)
redis.call('ZADD', at .. '@leases', now + lease, own)
for i = 2, #KEYS do
  local a = 3 * i + 1
  keepOpen(KEYS[i], ARGV[a], ARGV[a + 1], tonumber(ARGV[a + 2]), false, hold)
end
return membership()`

/**
 * Behind the common arguments: lease, hold, id of the next generation, whether it is the last part, how many
 * counters are those of open reservations, then id, amount and window of each counter, then member and lease
 * of each peer.
 */
const JOIN = `
local lease, hold, nextId = tonumber(ARGV[5]), tonumber(ARGV[6]), ARGV[7]
local isLast, opened = ARGV[8] == '1', tonumber(ARGV[9])
local member = redis.call('HMGET', at .. '@members', own, own .. ':order')
if not follows(member[2]) then return false end
local isLate = known ~= '' and current[1] and current[1] ~= known and member[1] ~= current[1]
  and #KEYS > 1 and ready()
if not current[1] or isLate or lost() then
  local renewed = tonumber(current[3] or now)
  redis.call('DEL', at .. '@awaited')
  local leases = redis.call('ZRANGEBYSCORE', at .. '@leases', '(' .. renewed, '+inf', 'WITHSCORES')
  for i = 1, #leases, 2 do
    redis.call('ZADD', at .. '@awaited', now + tonumber(leases[i + 1]) - renewed, leases[i])
  end
  local peers = 0
  if #leases > 0 then peers = 1 end
  redis.call('HSET', at .. '@generation', 'id', nextId, 'run', run, 'since', now, 'peers', peers, 'ready', 0,
    'over', 0)
  current = { nextId, run, now, '0', '0' }
end
redis.call('HSET', at .. '@generation', 'renewed', now)
redis.call('ZADD', at .. '@leases', now + lease, own)
if isLast then redis.call('HSET', at .. '@members', own, current[1]) end
local isNew = current[1] ~= known and member[1] ~= current[1]
if isNew and known ~= '' then
  redis.call('HSET', at .. '@generation', 'peers', 1)
  for i = 7 + 3 * #KEYS, #ARGV, 2 do
    if redis.call('HGET', at .. '@members', ARGV[i]) ~= current[1] then
      redis.call('ZADD', at .. '@awaited', 'NX', now + tonumber(ARGV[i + 1]), ARGV[i])
    end
  end
end
if isLast then
  redis.call('ZREM', at .. '@awaited', own)
else
  redis.call('ZADD', at .. '@awaited', now + lease, own)
end
for i = 2, #KEYS do
  local counter, a = KEYS[i], 4 + 3 * i
  local id, amount, window = ARGV[a], ARGV[a + 1], tonumber(ARGV[a + 2])
  if i - 1 <= opened then
    keepOpen(counter, id, amount, window, isNew, hold)
  elseif isNew then
    local found = findOrCreate(counter, window)
    if found then
      if redis.call('SADD', counter .. ':registered', id) == 1 then
        found.used = redis.call('HINCRBY', counter, 'used', amount)
      end
      keep(counter, found)
    end
  end
end
return membership()`

const GRANTED = 0
const REFUSED = 1
const MISSING = 2
const RECOVERING = 3
const UNKNOWN = 4

/** What the first number of the answer to a reservation means. */
export const RESULTS = ['granted', 'refused', 'missing', 'recovering', 'unknown'] as const

/** Behind the common arguments: id, hold, then amount, limit, window, initial value of each counter. */
const RESERVE = `
local id, hold = ARGV[5], tonumber(ARGV[6])
if not accepts() then return { ${UNKNOWN}, 0, {}, {} } end
if not ready() then return { ${RECOVERING}, 0, {}, {} } end
local states, missing, full = {}, 0, 0
for i = 2, #KEYS do
  local a = 4 * i - 1
  local amount, limit, initial = tonumber(ARGV[a]), tonumber(ARGV[a + 1]), tonumber(ARGV[a + 3])
  local found = find(KEYS[i])
  states[i] = found
  if #redis.call('ZRANGEBYSCORE', KEYS[i] .. ':open', '-inf', now, 'LIMIT', 0, 1) > 0 then
    redis.call('HSET', at .. '@generation', 'over', 1)
    return { ${UNKNOWN}, 0, {}, {} }
  end
  if not initial and not (found and found.sum) and missing == 0 then missing = i end
  local used, reserved = initial or 0, 0
  if found then used, reserved = found.used + missingSum(found, initial), found.reserved end
  if limit and used + reserved + amount > limit and full == 0 then full = i end
end
local values = {}
local function add(a, b, c, d)
  local n = #values
  values[n + 1], values[n + 2], values[n + 3], values[n + 4] = a, b, c, d
end
for i = 2, #KEYS do
  local counter, a = KEYS[i], 4 * i - 1
  local amount, window, initial = ARGV[a], tonumber(ARGV[a + 2]), tonumber(ARGV[a + 3])
  local found = states[i]
  if missing > 0 or full > 0 then
    local used, reserved, reset, finish = initial or 0, 0, 0, 0
    if found then
      used, reserved, reset, finish = describe(found)
      used = used + missingSum(found, initial)
    end
    add(used, reserved, reset, finish)
  end
  if missing == 0 and (full == 0 or found or initial > 0) then
    if not found then
      local finish = 0
      if window then finish = now + window end
      found = create(counter, finish)
    end
    addSum(counter, found, initial)
    if full == 0 then
      found.reserved = redis.call('HINCRBY', counter, 'reserved', amount)
      redis.call('ZADD', counter .. ':open', now + hold, id .. ':' .. amount)
      add(describe(found))
    end
    keep(counter, found)
  end
end
if missing > 0 then
  return { ${MISSING}, missing - 1, values, redis.call('SMEMBERS', KEYS[missing] .. ':registered') }
end
if full > 0 then return { ${REFUSED}, full - 1, values, {} } end
return { ${GRANTED}, 0, values, {} }`

/** Behind the common arguments: id, then reserved amount, used amount and window of each counter. */
const SETTLE = `
if not accepts() then return 0 end
for i = 2, #KEYS do
  local counter, a = KEYS[i], 3 * i
  local member, used, window = ARGV[5] .. ':' .. ARGV[a], ARGV[a + 1], tonumber(ARGV[a + 2])
  local found = inWindow(counter, window)
  if found then
    if redis.call('ZREM', counter .. ':open', member) == 1 then
      redis.call('HINCRBY', counter, 'reserved', 0 - tonumber(ARGV[a]))
      found.used = redis.call('HINCRBY', counter, 'used', used)
    end
    keep(counter, found)
  end
end
return 1`

/** KEYS: as above. There are no arguments. */
const READ = `
local result = {}
for i = 2, #KEYS do
  local found = current[1] and find(KEYS[i])
  local values = { -1, 0, 0, 0 }
  if found and found.sum then values = { describe(found) } end
  for j = 1, 4 do result[#result + 1] = values[j] end
end
return result`

const REDIS_CLOCK = `local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)`

/** `clock`: sets \`now\` to the milliseconds of the clock. */
export function buildReservationScripts(clock = REDIS_CLOCK) {
  const common = COMMON(clock)
  return {
    joinReservations: { lua: common + JOIN },
    renewReservations: { lua: common + RENEW },
    reserveAmounts: { lua: common + RESERVE },
    settleAmounts: { lua: common + SETTLE },
    readReservations: { lua: common + READ },
  } as const
}
