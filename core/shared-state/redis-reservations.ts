import type { Redis } from 'ioredis'
import type { CounterUse, OpenReservation, ReservationOutcome, SharedReservations } from './reservations.ts'

// A counter is a hash with the fields `used`, `reserved` and `end` (of its window, in milliseconds by the
// clock of Redis; 0 without a window), and a sorted set of its open reservations, `{id}:{amount}` by the time
// when they end. Both expire with the window. Without a window they expire when no reservation can be open
// any more, if nothing was used. See docs/decisions/limits.md, "Reservations in Redis".

/** Functions of all scripts. `close` ends reservations whose time has come; `state` describes a counter. */
const COMMON = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function close(counter, open)
  for _, member in ipairs(redis.call('ZRANGEBYSCORE', open, '-inf', now)) do
    redis.call('ZREM', open, member)
    if redis.call('EXISTS', counter) == 1 then
      redis.call('HINCRBY', counter, 'reserved', -tonumber(string.match(member, ':(%d+)$')))
    end
  end
end
local function state(counter)
  local fields = redis.call('HMGET', counter, 'used', 'reserved', 'end')
  if not fields[1] then return nil end
  local finish = tonumber(fields[3])
  local reset = 0
  if finish > 0 then reset = finish - now end
  return { tonumber(fields[1]), tonumber(fields[2]), reset, finish }
end
local function keep(counter, open, hold)
  local current = state(counter)
  if current[4] > 0 then
    redis.call('PEXPIREAT', counter, current[4])
    redis.call('PEXPIREAT', open, current[4])
  elseif current[1] > 0 then
    redis.call('PERSIST', counter)
    redis.call('PERSIST', open)
  elseif current[2] == 0 then
    redis.call('DEL', counter, open)
  elseif hold then
    redis.call('PEXPIRE', counter, 2 * hold)
    redis.call('PEXPIRE', open, 2 * hold)
  end
end`

/** KEYS: counter and set of each entry. ARGV: id, hold, then amount, limit, window, initial value of each. */
const RESERVE = `${COMMON}
local id, hold = ARGV[1], tonumber(ARGV[2])
local count = #KEYS / 2
local states, missing, full = {}, 0, 0
for i = 1, count do
  local counter, open, at = KEYS[2 * i - 1], KEYS[2 * i], 4 * i - 1
  local amount, limit, initial = tonumber(ARGV[at]), tonumber(ARGV[at + 1]), tonumber(ARGV[at + 3])
  close(counter, open)
  local current = state(counter)
  if not current and not initial and missing == 0 then missing = i end
  states[i] = current or { initial or 0, 0, 0, 0 }
  if limit and states[i][1] + states[i][2] + amount > limit and full == 0 then full = i end
end
for i = 1, count do
  local counter, open, at = KEYS[2 * i - 1], KEYS[2 * i], 4 * i - 1
  local amount, window, initial = ARGV[at], tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3])
  local exists = redis.call('EXISTS', counter) == 1
  if missing == 0 and (full == 0 or (not exists and initial > 0)) then
    if not exists then
      local finish = 0
      if window then finish = now + window end
      redis.call('HSET', counter, 'used', initial, 'reserved', 0, 'end', finish)
    end
    if full == 0 then
      redis.call('HINCRBY', counter, 'reserved', amount)
      redis.call('ZADD', open, now + hold, id .. ':' .. amount)
    end
    if full == 0 then states[i] = state(counter) end
    keep(counter, open, hold)
  end
end
local result = { missing, full }
for i = 1, count do
  for j = 1, 4 do result[#result + 1] = states[i][j] end
end
return result`

/**
 * Ends of one window that were computed at different times, as after a loss of the counters, differ by less
 * than this, in milliseconds; ends of consecutive windows by more.
 */
const SAME_WINDOW_MS = 10_000

/** KEYS: as above. ARGV: id, then reserved amount, used amount and window of each entry. */
const SETTLE = `${COMMON}
for i = 1, #KEYS / 2 do
  local counter, open, at = KEYS[2 * i - 1], KEYS[2 * i], 3 * i - 1
  local amount, used, window = ARGV[at], ARGV[at + 1], tonumber(ARGV[at + 2])
  local current = state(counter)
  if current and math.abs(current[4] - window) < ${SAME_WINDOW_MS} then
    if redis.call('ZREM', open, ARGV[1] .. ':' .. amount) == 1 then
      redis.call('HINCRBY', counter, 'reserved', -tonumber(amount))
    end
    redis.call('HINCRBY', counter, 'used', used)
    keep(counter, open)
  end
end`

/** KEYS: counter and set of every entry of every reservation. ARGV: hold, then the member of each. */
const RENEW = `${COMMON}
local hold = tonumber(ARGV[1])
for i = 1, #KEYS / 2 do
  local counter, open = KEYS[2 * i - 1], KEYS[2 * i]
  redis.call('ZADD', open, 'XX', now + hold, ARGV[i + 1])
  if redis.call('EXISTS', counter) == 1 then keep(counter, open, hold) end
end`

/** KEYS: counter and set of each. */
const READ = `${COMMON}
local result = {}
for i = 1, #KEYS / 2 do
  local counter = KEYS[2 * i - 1]
  close(counter, KEYS[2 * i])
  for j = 1, 4 do
    local current = state(counter)
    result[#result + 1] = current and current[j] or -1
  end
end
return result`

type Argument = string | number

/** A client with the scripts as commands. Each takes the number of keys, the keys and the arguments. */
export interface ReservationRedis extends Redis {
  reserveAmounts(keys: number, ...args: readonly Argument[]): Promise<readonly number[]>
  settleAmounts(keys: number, ...args: readonly Argument[]): Promise<unknown>
  renewReservations(keys: number, ...args: readonly Argument[]): Promise<unknown>
  readReservations(keys: number, ...args: readonly Argument[]): Promise<readonly number[]>
}

export const RESERVATION_SCRIPTS = {
  reserveAmounts: { lua: RESERVE },
  settleAmounts: { lua: SETTLE },
  renewReservations: { lua: RENEW },
  readReservations: { lua: READ },
} as const

export function createRedisReservations(
  redis: ReservationRedis,
  prefix: string,
  rejectUnavailable: (error: Error) => never,
): SharedReservations {
  const keysOf = (keys: readonly string[]) => keys.flatMap((key) => [prefix + key, `${prefix}${key}:open`])
  return {
    async reserve(id, entries, holdMs) {
      const keys = keysOf(entries.map(({ key }) => key))
      const amounts = entries.flatMap(({ amount, limit, windowMs, initial }) => [
        ...[amount, limit ?? '', windowMs === null ? '' : Math.ceil(windowMs), initial ?? ''],
      ])
      const reply = await redis
        .reserveAmounts(keys.length, ...keys, id, holdMs, ...amounts)
        .catch(rejectUnavailable)
      return parseOutcome(reply)
    },
    async settle({ id, entries }, used) {
      const keys = keysOf(entries.map(({ key }) => key))
      const amounts = entries.flatMap(({ amount, window }, index) => [amount, used[index] ?? 0, window])
      await redis.settleAmounts(keys.length, ...keys, id, ...amounts).catch(rejectUnavailable)
    },
    async renew(reservations, holdMs) {
      const keys = reservations.flatMap(({ entries }) => keysOf(entries.map(({ key }) => key)))
      await redis
        .renewReservations(keys.length, ...keys, holdMs, ...reservations.flatMap(membersOf))
        .catch(rejectUnavailable)
    },
    async read(names) {
      const keys = keysOf(names)
      const values = await redis.readReservations(keys.length, ...keys).catch(rejectUnavailable)
      return toCounters(values).map((counter) => (counter.used === -1 ? null : counter))
    },
  }
}

function membersOf({ id, entries }: OpenReservation): readonly string[] {
  return entries.map(({ amount }) => `${id}:${amount}`)
}

function parseOutcome([missing = 0, full = 0, ...values]: readonly number[]): ReservationOutcome {
  const counters = toCounters(values)
  if (missing > 0) return { result: 'missing', index: missing - 1, counters }
  return { result: full > 0 ? 'refused' : 'granted', index: full - 1, counters }
}

function toCounters(values: readonly number[]): readonly CounterUse[] {
  return Array.from({ length: values.length / 4 }, (_, index) => {
    const [used = 0, reserved = 0, resetMs = 0, window = 0] = values.slice(4 * index, 4 * index + 4)
    return { used, reserved, resetMs, window }
  })
}
