import type { ChildProcess } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'

/**
 * The most memory that a process held since `resetPeakMemory`, in MiB. Undefined where the system does not
 * tell.
 */
export function peakMemory({ pid }: ChildProcess): number | undefined {
  try {
    const [, kilobytes] = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
    return Number(kilobytes) / 1024
  } catch {
    return undefined
  }
}

/** Makes the memory that a process holds now its peak, where the system allows it. */
export function resetPeakMemory({ pid }: ChildProcess): void {
  try {
    // See proc_pid_clear_refs(5).
    writeFileSync(`/proc/${pid}/clear_refs`, '5')
  } catch {
    // The peak of earlier tests stays.
  }
}
