import { readdirSync, readFileSync } from 'node:fs'

/** A process and its descendants, from /proc (Linux only). Processes that have ended are skipped. */
export function treeOf(pid: number): readonly number[] {
  return [pid, ...childrenOf(pid).flatMap(treeOf)]
}

function childrenOf(pid: number): number[] {
  const threads = attempt(() => readdirSync(`/proc/${pid}/task`), [])
  return threads.flatMap((thread) => {
    const text = attempt(() => readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8'), '')
    return text.split(' ').filter(Boolean).map(Number)
  })
}

/** The resources of a process tree. */
export interface Footprint {
  readonly processes: number
  /** Open file descriptors. */
  readonly fds: number
  readonly rssMb: number
  readonly cpuSeconds: number
}

export function measureTree(pid: number): Footprint {
  const pids = treeOf(pid)
  const sum = (read: (pid: number) => number) =>
    pids.reduce((total, each) => total + attempt(() => read(each), 0), 0)
  return { processes: pids.length, fds: sum(countFds), rssMb: sum(readRss), cpuSeconds: sum(readCpu) }
}

function countFds(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length
}

function readRss(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024
}

/** 100 ticks a second. */
function readCpu(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) / 100
}

function attempt<Result>(read: () => Result, otherwise: Result): Result {
  try {
    return read()
  } catch {
    return otherwise
  }
}
