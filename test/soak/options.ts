import { parseArgs } from 'node:util'

/** The options of the command line and the environment. */
export interface Options {
  /** Duration of the load after the warm-up. */
  readonly seconds: number
  /** Duration of the warm-up in seconds. */
  readonly warmUp: number
  /** Time without requests before each measurement, in seconds. */
  readonly quiet: number
  /** Requests per second. Default: determined in the warm-up. */
  readonly rate: number | undefined
  readonly workers: number
  /** Kills the gateway in the middle of the load and restarts it. */
  readonly kill: boolean
  /** Restarts the workers from time to time. */
  readonly sighup: boolean
  readonly seed: number
  /** The file for the report as JSON. */
  readonly json: string | undefined
  /** Keeps the data folder and the log. */
  readonly keep: boolean
}

/** Throws an error for an invalid option. */
export function readOptions(args: readonly string[], environment: NodeJS.ProcessEnv): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seconds: { type: 'string', default: environment.SOAK_SECONDS || '600' },
      'warm-up': { type: 'string' },
      quiet: { type: 'string', default: '65' },
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
  const seconds = readNumber('seconds', values.seconds, 10, 24 * 60 * 60)
  const warmUp = values['warm-up'] ?? String(Math.min(60, Math.max(15, seconds / 5)))
  return {
    seconds,
    warmUp: readNumber('warm-up', warmUp, 1, 60 * 60),
    quiet: readNumber('quiet', values.quiet, 0, 60 * 60),
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
