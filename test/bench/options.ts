import { parseArgs } from 'node:util'
import { CASES } from './cases.ts'

/** Parses the command line. */
export function readOptions() {
  const { values } = parseArgs({
    options: {
      quick: { type: 'boolean', default: false },
      peers: { type: 'boolean', default: false },
      only: { type: 'string', multiple: true },
      seconds: { type: 'string' },
      json: { type: 'string' },
      markdown: { type: 'string' },
      save: { type: 'boolean', default: false },
      strict: { type: 'boolean', default: false },
      memory: { type: 'boolean', default: false },
      outside: { type: 'boolean', default: false },
      profile: { type: 'boolean', default: false },
    },
  })
  const { quick, only } = values
  const known = quick ? CASES.flatMap(quickly) : CASES
  const cases = known.filter(({ id }) => only === undefined || only.some((start) => id.startsWith(start)))
  if (cases.length === 0) {
    const names = known.map(({ id }) => id).join(', ')
    throw new Error(`--only takes the start of a case's name${quick ? ', here with --quick' : ''}: ${names}.`)
  }
  return { ...values, cases, seconds: readSeconds(values) }
}

export type Options = ReturnType<typeof readOptions>

/** Returns the cells of a case that `--quick` measures. */
function quickly(one: (typeof CASES)[number]): typeof CASES {
  const labels = one.quick ?? []
  const cells = one.cells.filter(({ label }) => labels.includes(label))
  return cells.length > 0 ? [{ ...one, cells }] : []
}

function readSeconds({ quick, seconds }: { quick: boolean; seconds?: string | undefined }): number {
  if (seconds === undefined) return quick ? 90 : 900
  const number = Number(seconds)
  if (!(number >= 5)) throw new Error('--seconds takes how long the whole may take: 5 or more.')
  return number
}
