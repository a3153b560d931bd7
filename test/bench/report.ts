import { readFileSync, writeFileSync } from 'node:fs'
import type { Goal } from './goals.ts'
import type { Comparison } from './last.ts'
import { LEGEND, type ServerName } from './servers.ts'
import type { StartUp } from './start-up.ts'
import type { CaseResult } from './summarize.ts'
import { asMarkdown, asText, type Table, tabulate, tabulateGoals } from './tables.ts'

/** The results of one run. */
export interface Run {
  readonly machine: string
  readonly results: readonly CaseResult[]
  readonly goals: readonly Goal[]
  readonly startUp: StartUp | undefined
  /** Resident memory by server, in megabytes. */
  readonly memory: Readonly<Record<string, { now: number; peak: number }>>
  /** Servers that did not start, with the reason. */
  readonly missing: ReadonlyMap<ServerName, string>
  readonly comparisons: readonly Comparison[]
}

interface Section {
  readonly title: string
  readonly lines: readonly string[]
  readonly table: Table
}

/** Formats the run for a terminal, with the most important sections last. */
export function describeRun(run: Run): string {
  const { results, comparisons } = run
  const sections = [...describeSetting(run), ...results.map(describeCase), describeMemory(run)]
  return [...sections, describeGoals(run), compare(comparisons)]
    .filter(({ lines, table }) => lines.length + table.length > 0)
    .map(
      ({ title, lines, table }) =>
        `\n${title}\n${lines.map((line) => `  ${line}\n`).join('')}${asText(table)}`,
    )
    .join('')
}

/** The marks between which a document has the figures of a run. */
const MARKS = {
  figures: [
    '<!-- figures: npm run bench -- --markdown docs/lab/performance.md -->',
    '<!-- end of figures -->',
  ],
  outside: [
    '<!-- outside: npm run bench -- --outside --markdown docs/lab/performance.md -->',
    '<!-- end of outside -->',
  ],
} as const

/** Writes a text between two marks of a document. */
export function pasteInto(file: string, place: keyof typeof MARKS, text: string): void {
  const [begin, end] = MARKS[place]
  const [before, rest = ''] = readFileSync(file, 'utf8').split(begin)
  const after = rest.split(end)[1]
  if (after === undefined)
    throw new Error(`${file} has no place for figures: write ${begin} and ${end} into it.`)
  writeFileSync(file, `${before}${begin}\n\n${text}\n${end}${after}`)
}

/** The goals of the run for a document. `--json` has the tables of all cases. */
export function describeGoalsOf(run: Run): string {
  const sections = [describeGoals(run), ...describeSetting(run), describeMemory(run)]
  const texts = sections.map(({ title, lines, table }) =>
    [`### ${title}\n`, lines.map((line) => `- ${line}\n`).join(''), asMarkdown(table)]
      .filter((part) => part !== '')
      .join('\n'),
  )
  return texts.join('\n')
}

function describeSetting({ machine, memory, missing, results }: Run): readonly Section[] {
  const measured = new Set(results.flatMap(({ figures }) => Object.keys(figures)).concat(Object.keys(memory)))
  const legend = Object.entries(LEGEND).filter(([name]) => measured.has(name))
  const absent = [...missing].map(
    ([name, why]) => `${name}: not available (${why.trim().split('\n').at(-1)?.trim()})`,
  )
  return [
    { title: 'Machine', lines: [machine], table: [] },
    { title: 'Compared', lines: [...legend.map(([name, text]) => `${name}: ${text}`), ...absent], table: [] },
  ]
}

function describeGoals({ goals }: Run): Section {
  return { title: 'Goals', lines: [], table: tabulateGoals(goals) }
}

function describeCase(result: CaseResult): Section {
  return { title: result.title, lines: [], table: tabulate(result) }
}

function describeMemory({ startUp, memory }: Run): Section {
  const lines =
    startUp === undefined
      ? []
      : [
          `start to ready on an empty log: ${startUp.readyMs.toFixed(0)} ms, then ${startUp.startedMegabytes.toFixed(0)} MB resident (medians of ${startUp.starts})`,
          ...(startUp.idleMegabytes === undefined
            ? []
            : [`${startUp.idleMegabytes.toFixed(0)} MB resident at the end of the run, without any request`]),
        ]
  const rows = Object.entries(memory).map(([name, { now, peak }]) => [name, now.toFixed(0), peak.toFixed(0)])
  return { title: 'Memory and start', lines, table: [['', 'MB at the end', 'maximum MB'], ...rows] }
}

function compare(comparisons: readonly Comparison[]): Section {
  const rows = comparisons.map(({ name, last, now, fell }) => [
    name,
    last.toFixed(2),
    now.toFixed(2),
    `${((now / last - 1) * 100).toFixed(0)} %`,
    fell ? 'FELL' : '',
  ])
  const title = 'Ratios against the last saved table; FELL is by more than 15 %'
  const lines = rows.length > 0 ? [] : ['There is none of such a run: --save makes one.']
  return { title, lines, table: rows.length > 0 ? [['', 'last', 'now', 'change', ''], ...rows] : [] }
}
