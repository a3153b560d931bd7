import { parseArgs } from 'node:util'

/** What the command line and the environment ask for. */
export interface Options {
  /** Of load, after the warm-up. */
  readonly seconds: number
  /** Requests per second; found out in the warm-up when left out. */
  readonly rate: number | undefined
  readonly workers: number
  /** Kill the gateway in the middle of the load and start it again. */
  readonly kill: boolean
  /** Have the workers replaced now and then. */
  readonly sighup: boolean
  readonly seed: number
  /** Where the report goes as JSON. */
  readonly json: string | undefined
  /** Leaves data folder and log behind. */
  readonly keep: boolean
}

/** Throws a sentence for what cannot be read. */
export function readOptions(args: readonly string[], environment: NodeJS.ProcessEnv): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seconds: { type: 'string', default: environment.SOAK_SECONDS || '600' },
      rate: { type: 'string' },
      workers: { type: 'string', default: '1' },
      kill: { type: 'boolean', default: false },
      sighup: { type: 'boolean', default: false },
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
      json: { type: 'string' },
      keep: { type: 'boolean', default: false },
    },
  })
  const { rate, kill, sighup, json, keep } = values
  const workers = readNumber('workers', values.workers, 1, 64)
  if (sighup && workers === 1) throw new Error('--sighup needs --workers 2 or more')
  return {
    seconds: readNumber('seconds', values.seconds, 10, 24 * 60 * 60),
    rate: rate === undefined ? undefined : readNumber('rate', rate, 1, 100_000),
    workers,
    kill,
    sighup,
    seed: readNumber('seed', values.seed, 0, 2 ** 31),
    json,
    keep,
  }
}

function readNumber(name: string, text: string, least: number, most: number): number {
  const number = Number(text)
  if (text.trim() !== '' && number >= least && number <= most) return number
  throw new Error(`--${name} must be a number from ${least} to ${most}, not "${text}"`)
}
