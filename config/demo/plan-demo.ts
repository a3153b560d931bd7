import type { Random } from '../../core/util/random.ts'
import { DEMO_CHANGES, type DemoChange } from './changes.ts'
import { DEMO_TOOL_CHANGES } from './tool-servers.ts'
import { DEMO_USERS, type DemoUser } from './users.ts'

/** What happens at a time. */
export type DemoStep = { readonly time: number } & (
  | { readonly type: 'operators' | 'request' }
  | { readonly type: 'user'; readonly user: DemoUser }
  | { readonly type: 'change'; readonly change: DemoChange }
)

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** Requests of a working day in the middle of the period. */
const REQUESTS_PER_DAY = 180

/** The share of each hour of a day in UTC, on working days. */
const HOURS = [2, 2, 3, 2, 1, 1, 2, 4, 7, 9, 10, 9, 7, 8, 9, 9, 8, 6, 4, 3, 3, 2, 2, 2]
const HOURS_SUM = HOURS.reduce((sum, share) => sum + share)
const WEEKEND = 0.35

/** Changes are made between 8:00 and 17:36 UTC. */
const OPENS_MS = 8 * HOUR_MS
const OPEN_SHARE = 0.4

/** Plans everything that happens in a period, in the order of time. */
export function planDemo(
  { days, end }: { readonly days: number; readonly end: number },
  random: Random,
): readonly [DemoStep, ...DemoStep[]] {
  const start = end - days * DAY_MS
  const at = (share: number) => toOfficeTime(start + share * (end - start), end)
  const users = DEMO_USERS.map((user) => ({
    type: 'user' as const,
    time: at(user.from ?? 0) - HOUR_MS / 2,
    user,
  }))
  const changes = [...DEMO_CHANGES, ...DEMO_TOOL_CHANGES].map((change) => ({
    type: 'change' as const,
    time: at(change.at),
    change,
  }))
  const requests = planRequests(at(0), end, random).map((time) => ({ type: 'request' as const, time }))
  const steps = [...users, ...changes, ...requests].sort((a, b) => a.time - b.time)
  return [{ type: 'operators', time: at(0) - HOUR_MS }, ...steps]
}

/** How busy the hour of a time is; 1 is the average of a working day. */
export function loadAt(time: number): number {
  const date = new Date(time)
  const isWeekend = date.getUTCDay() % 6 === 0
  return (((HOURS[date.getUTCHours()] ?? 0) * 24) / HOURS_SUM) * (isWeekend ? WEEKEND : 1)
}

/** Returns the times of requests, of which there are more from week to week. */
function planRequests(start: number, end: number, random: Random): readonly number[] {
  const times: number[] = []
  for (let hour = Math.floor(start / HOUR_MS) * HOUR_MS; hour < end; hour += HOUR_MS) {
    const growth = 0.7 + (0.6 * (hour - start)) / (end - start)
    const expected = (REQUESTS_PER_DAY * growth * loadAt(hour) * random.spread()) / 24
    const count = Math.floor(expected) + (random.chance(expected % 1) ? 1 : 0)
    for (let index = 0; index < count; index++) times.push(hour + random.integer(HOUR_MS))
  }
  return times.filter((time) => time > start && time < end)
}

/** Moves a time to the working day, without changing the order of times, and not beyond the period. */
function toOfficeTime(time: number, end: number): number {
  const midnight = Math.floor(time / DAY_MS) * DAY_MS
  return Math.min(Math.round(midnight + OPENS_MS + (time - midnight) * OPEN_SHARE), end)
}
