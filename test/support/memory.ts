import type { ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'

/** The most memory that a process ever held, in MiB; undefined where the system does not tell. */
export function peakMemory({ pid }: ChildProcess): number | undefined {
  try {
    const [, kilobytes] = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
    return Number(kilobytes) / 1024
  } catch {
    return undefined
  }
}
