/**
 * `npm run soak`: runs the built gateway under mixed traffic for ten minutes, or `-- --seconds N`, while
 * providers fail and clients disconnect. Exits with 1 if a check fails. See README.md in this folder. Linux
 * only; not part of the tests.
 */
import { writeFile } from 'node:fs/promises'
import { checkAll } from './check-all.ts'
import { type Options, readOptions } from './options.ts'
import { machine, plain, printChecks, printEffects, printLevels, say } from './report.ts'
import { slopeOf } from './samples.ts'
import { openScene } from './scene.ts'
import { soak } from './soak.ts'

/** Time for the start and the checks, in addition to the load and its two warm-ups. */
const BESIDES_MS = 4 * 60_000

const options = readOptionsOrLeave()
const scene = await openScene(options)
const stopping = new AbortController()

function readOptionsOrLeave(): Options {
  try {
    return readOptions(process.argv.slice(2), process.env)
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n`)
    process.exit(2)
  }
}

async function leave(code: number, why: string): Promise<never> {
  say(why)
  await scene.clear()
  process.exit(code)
}

/** The first signal ends the load and runs the checks; the second ends the program. */
function onSignal(): void {
  if (stopping.signal.aborted) void leave(130, 'stopped, without checks')
  say('the load ends here; once more to leave without checks')
  stopping.abort()
}
process.on('SIGINT', onSignal)
process.on('SIGTERM', onSignal)
setTimeout(
  () => leave(1, 'FAILED: it took far too long'),
  (options.seconds + 2 * options.warmUp + 3 * options.quiet) * 1000 + BESIDES_MS,
).unref()

try {
  say(`${options.seconds} s, seed ${options.seed}, ${options.workers} worker(s); ${machine()}`)
  const soaked = await soak(options, scene, stopping.signal)
  const { world, start, end, samples, rate, held, seriesAtStart, actors } = soaked
  const series = { start: seriesAtStart, end: actors.scraper.series() }
  const checks = await checkAll(scene, soaked)
  printEffects(world.tally)
  printLevels({ start, end }, samples)
  say(
    `\n${held} requests were held back; the metrics had ${series.start} series at the start, ${series.end} at the end`,
  )
  for (const [what, count] of scene.log.counts) say(`log: ${String(count).padStart(7)}  ${what}`)
  const isWell = printChecks(checks)
  if (options.json) {
    const slopeMbPerHour = slopeOf(samples)
    const effects = plain(world.tally)
    const log = Object.fromEntries(scene.log.counts)
    const report = {
      machine: machine(),
      options,
      rate,
      effects,
      start,
      end,
      slopeMbPerHour,
      series,
      log,
      samples,
      checks,
    }
    await writeFile(options.json, `${JSON.stringify(report, null, 2)}\n`)
  }
  await leave(isWell ? 0 : 1, options.keep ? `the folder is ${scene.folder}` : '')
} catch (error) {
  await leave(1, `FAILED: ${error instanceof Error ? error.stack : error}`)
}
