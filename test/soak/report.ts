import os from 'node:os'
import type { Check } from './checks/check.ts'
import type { Level } from './level.ts'
import { type Sample, slopeOf } from './samples.ts'
import type { Tally } from './tally.ts'

const print = (line: string) => process.stdout.write(`${line}\n`)

const HEAD = [
  ...['   time', 'req/s', 'open', 'failed', 'p50 ms', 'p99 ms', 'processes', 'files', 'RSS MB', 'heap MB'],
  'CPU gateway/providers/soak',
]

export const printHead = () => print(`\n${HEAD.join('  ')}`)

export function printSample(sample: Sample): void {
  const { seconds, perSecond, inFlight, failures, p50, p99, processes, fds, rssMb, heapMb, cpu } = sample
  const cells = [
    `${seconds.toFixed(0)} s`,
    ...[
      perSecond.toFixed(0),
      inFlight,
      failures,
      p50.toFixed(1),
      p99.toFixed(1),
      processes,
      fds,
      rssMb.toFixed(0),
    ],
    heapMb?.toFixed(1) ?? '',
    cpu.map((share) => share.toFixed(2)).join(' / '),
  ]
  print(cells.map((cell, n) => String(cell).padStart(HEAD[n]?.length ?? 0)).join('  '))
}

export const say = (text: string) => print(text)

/** Lists kinds and their outcomes, most frequent first. */
export function printEffects({ effects }: Tally): void {
  print('\nrequests by kind, and what came of them')
  const total = (counts: ReadonlyMap<string, number>) =>
    [...counts.values()].reduce((sum, count) => sum + count, 0)
  for (const [kind, counts] of [...effects].sort(([, a], [, b]) => total(b) - total(a))) {
    const shown = [...counts].sort(([, a], [, b]) => b - a).map(([effect, count]) => `${effect} ${count}`)
    print(`  ${String(total(counts)).padStart(7)}  ${kind}: ${shown.slice(0, 8).join(', ')}`)
    for (let n = 8; n < shown.length; n += 8) print(`           ${shown.slice(n, n + 8).join(', ')}`)
  }
}

export function printLevels(levels: Readonly<Record<string, Level>>, samples: readonly Sample[]): void {
  print('\nwhat the gateway holds on to when all is quiet')
  for (const [when, { usedMb, threadsMb, threads, externalMb, fds, rssMb, processes }] of Object.entries(
    levels,
  )) {
    const heap = `heap ${usedMb.toFixed(2)} MB, ${threadsMb.toFixed(2)} MB in ${threads} other threads, ${externalMb.toFixed(2)} MB outside`
    print(
      `  ${when}: ${heap}, ${fds} open files, ${processes} processes (RSS ${rssMb.toFixed(0)} MB, not judged)`,
    )
  }
  const slope = slopeOf(samples)
  if (slope !== undefined)
    print(`  under load the heap gains ${slope.toFixed(1)} MB an hour (straight line, not judged)`)
}

/** True if all checks passed. */
export function printChecks(checks: readonly Check[]): boolean {
  print('\nchecks')
  for (const { name, found, faults } of checks) {
    print(`  ${faults.length === 0 ? 'ok    ' : 'FAILED'} ${name}: ${found}`)
    for (const fault of faults) print(`           ${fault}`)
  }
  return checks.every(({ faults }) => faults.length === 0)
}

export function machine(): string {
  const [cpu] = os.cpus()
  return `${os.availableParallelism()} x ${cpu?.model ?? 'CPU'}, ${(os.totalmem() / 2 ** 30).toFixed(0)} GiB, Node ${process.version}`
}

/** Converts maps to objects for JSON. */
export const plain = ({ effects }: Tally) =>
  Object.fromEntries([...effects].map(([kind, counts]) => [kind, Object.fromEntries(counts)]))
