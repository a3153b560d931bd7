import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { CaseResult } from './summarize.ts'

/**
 * Ratios between two servers of one run, by name. Absolute times of different runs depend mostly on the
 * machine.
 */
export type RatioTable = Readonly<Record<string, number>>

/** Quick runs are compared with quick runs, because they warm up less. */
export type Flavour = 'quick' | 'full'

export interface Comparison {
  readonly name: string
  readonly last: number
  readonly now: number
  readonly fell: boolean
}

const FILE = fileURLToPath(new URL('last.json', import.meta.url))
const TOLERANCE = 0.15

export function readRatios(results: readonly CaseResult[]): RatioTable {
  const entries = results.flatMap(({ id, base, ratios }) =>
    Object.entries(ratios)
      .filter(([label]) => label !== 'e')
      .flatMap(([label, { rate, perCpuSecond }]) => [
        [`${id}: ${label} ÷ ${base}, per second`, round(rate)],
        [`${id}: ${label} ÷ ${base}, per CPU second`, round(perCpuSecond)],
      ]),
  )
  return Object.fromEntries(entries)
}

/** Compares the ratios that both tables have. Empty if there is no table of this flavour. */
export function compareWithLast(flavour: Flavour, now: RatioTable): readonly Comparison[] {
  const table = readLast()[flavour] ?? {}
  return Object.entries(now).flatMap(([name, ratio]) => {
    const last = table[name]
    return last === undefined ? [] : [{ name, last, now: ratio, fell: ratio < last * (1 - TOLERANCE) }]
  })
}

/** Saves the ratios. Keeps the table of the other flavour, and rows that this run did not measure. */
export function saveRatios(flavour: Flavour, machine: string, now: RatioTable): void {
  const last = readLast()
  writeLast({ ...last, machine, [flavour]: { ...last[flavour], ...now } })
}

/** The result of the last `--memory` run, which takes too long to be part of every run. */
export function readMemoryGrowth(): number | undefined {
  return readLast().memory_growth
}

export function saveMemoryGrowth(share: number): void {
  writeLast({ ...readLast(), memory_growth: round(share) })
}

interface Last extends Partial<Record<Flavour, RatioTable>> {
  readonly machine?: string
  readonly memory_growth?: number
}

function readLast(): Last {
  return existsSync(FILE) ? JSON.parse(readFileSync(FILE, 'utf8')) : {}
}

function writeLast(last: Last): void {
  writeFileSync(FILE, `${JSON.stringify(last, null, 2)}\n`)
}

function round(ratio: number): number {
  return Math.round(ratio * 1000) / 1000
}
