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

/** The kinds of resident memory of a process and its largest mappings, for the message of a failed test. */
export function largestMappings({ pid }: ChildProcess): string {
  try {
    const kinds = readFileSync(`/proc/${pid}/status`, 'utf8').match(/^(?:Vm|Rss).*/gm) ?? []
    const mappings = readFileSync(`/proc/${pid}/smaps`, 'utf8').split(/\n(?=[0-9a-f]+-)/)
    const kilobytesOf = (mapping: string) => Number(/^Rss:\s+(\d+)/m.exec(mapping)?.[1])
    const largest = mappings.toSorted((one, other) => kilobytesOf(other) - kilobytesOf(one)).slice(0, 8)
    return [...kinds, ...largest.map((each) => `${kilobytesOf(each)} kB: ${each.split('\n')[0]}`)].join('\n')
  } catch {
    return ''
  }
}
