/** CPU time and memory of a process and its children, from /proc. */
import { readFileSync } from 'node:fs'

/** The value of `getconf CLK_TCK` on every Linux that runs Node. */
const TICKS_PER_SECOND = 100

export function readCpuSeconds(pid: number): number {
  const ticks = familyOf(pid).map((member) => {
    // The name in brackets may contain spaces; the fields after it do not.
    const fields = read(member, 'stat').split(') ')[1]?.split(' ') ?? []
    return Number(fields[11] ?? 0) + Number(fields[12] ?? 0)
  })
  return sum(ticks) / TICKS_PER_SECOND
}

/** CPU time of the main threads, on which requests are served, in seconds. */
export function readMainThreadSeconds(pid: number): number {
  const nanoseconds = familyOf(pid).map((member) =>
    Number(read(member, `task/${member}/schedstat`).split(' ')[0] ?? 0),
  )
  return sum(nanoseconds) / 1e9
}

/** Resident memory in megabytes: current and maximum. */
export function readMemory(pid: number): { now: number; peak: number } {
  const statuses = familyOf(pid).map((member) => read(member, 'status'))
  const megabytes = (name: string) =>
    sum(statuses.map((status) => Number(status.match(new RegExp(`${name}:\\s+(\\d+)`))?.[1] ?? 0))) / 1024
  return { now: megabytes('VmRSS'), peak: megabytes('VmHWM') }
}

/** The process and its descendants, of which a cluster has one per worker. */
export function familyOf(pid: number): readonly number[] {
  const children = read(pid, `task/${pid}/children`).split(' ').filter(Boolean).map(Number)
  return [pid, ...children.flatMap(familyOf)]
}

/** Returns an empty text if the process has ended. */
function read(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return ''
  }
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
