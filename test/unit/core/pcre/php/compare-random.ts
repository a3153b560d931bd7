/**
 * Compares random patterns with PHP. Run by hand, with PHP installed:
 * `tsx test/unit/core/pcre/php/compare-random.ts [count] [seed]`. Prints by kind of syntax how many patterns
 * that PHP accepts are accepted, and how many results differ; with `SHOW=refused` or `SHOW=different` which.
 */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { compilePattern } from '../../../../../core/patterns/patterns.ts'
import { parseReplacement } from '../../../../../core/pcre/pattern.ts'
import { patternRun } from '../../../../support/pattern-run.ts'
import { createRandom } from '../../../../support/random.ts'
import { randomPatterns } from './random-patterns.ts'

interface PhpResult {
  readonly matches: boolean
  readonly replaced: string | null
}

interface Tally {
  accepted: number
  agreeing: number
  refused: number
  otherMatch: number
  otherMask: number
}

const SUBJECTS_PER_PATTERN = 4
const [count = '3000', seed = '1'] = process.argv.slice(2)
const random = createRandom(Number(seed))
const { nextPattern, nextSubject } = randomPatterns(random)
const cases = Array.from({ length: Number(count) }, nextPattern).flatMap((made) =>
  Array.from({ length: SUBJECTS_PER_PATTERN }, () => ({ ...made, subject: nextSubject() })),
)
const script = fileURLToPath(new URL('./random.php', import.meta.url))
const expected = askPhp(cases)

const tallies = new Map<string, Tally>()
const replacement = parseReplacement('<$0,$1>')
for (let start = 0; start < cases.length; start += SUBJECTS_PER_PATTERN) {
  const rows = cases.slice(start, start + SUBJECTS_PER_PATTERN)
  const results = expected.slice(start, start + SUBJECTS_PER_PATTERN)
  const [first] = rows
  if (first === undefined || results.some((result) => result === null || result?.replaced === null)) continue
  const outcome = await compare(
    first.pattern,
    rows.map(({ subject }) => subject),
    results,
  )
  for (const kind of ['all', ...first.kinds]) {
    const tally = tallies.get(kind) ?? { accepted: 0, agreeing: 0, refused: 0, otherMatch: 0, otherMask: 0 }
    tallies.set(kind, tally)
    tally.accepted += 1
    tally[outcome] += 1
  }
}
for (const [kind, { accepted, agreeing, refused, otherMatch, otherMask }] of [...tallies].sort()) {
  const share = ((100 * agreeing) / accepted).toFixed(1)
  process.stdout.write(
    `${kind.padEnd(20)} ${String(accepted).padStart(6)} patterns, ${share.padStart(5)} % agree, ` +
      `${refused} refused, ${otherMatch} other match, ${otherMask} other mask\n`,
  )
}
process.exit()

interface Case {
  readonly pattern: string
  readonly subject: string
}

/** Null for what PHP rejects, gives up, or crashes at. */
function askPhp(all: readonly Case[]): readonly (PhpResult | null)[] {
  const input = all.map(({ pattern, subject }) => JSON.stringify({ pattern: toPhp(pattern), subject }))
  const { stdout } = spawnSync('php', [script], { input: `${input.join('\n')}\n`, maxBuffer: 2 ** 30 })
  const lines = stdout.toString().split('\n').slice(0, -1)
  const results = lines.map((line) => JSON.parse(line || 'null') as PhpResult | null)
  if (results.length >= all.length) return results
  return [...results, null, ...askPhp(all.slice(results.length + 1))]
}

/** PHP matches bytes without this. */
function toPhp(pattern: string): string {
  return pattern.endsWith('u') ? pattern : `/(*UTF)${pattern.slice(1)}`
}

async function compare(pattern: string, subjects: readonly string[], results: readonly (PhpResult | null)[]) {
  const compiled = compilePattern({ kind: 'regex', text: pattern })
  if ('error' in compiled) {
    if (process.env.SHOW === 'refused') process.stdout.write(`${compiled.error}: ${pattern}\n`)
    return 'refused'
  }
  for (const [index, subject] of subjects.entries()) {
    const result = results[index]
    const matches = await compiled.test(subject, patternRun())
    const replaced = await compiled.replace(subject, replacement, patternRun())
    const isMatchEqual = matches === result?.matches
    if (isMatchEqual && replaced === result?.replaced) continue
    if (process.env.SHOW === 'different')
      process.stdout.write(
        `${JSON.stringify({ engine: compiled.engine, pattern, subject, matches, replaced, php: result })}\n`,
      )
    return isMatchEqual ? 'otherMask' : 'otherMatch'
  }
  return 'agreeing'
}
