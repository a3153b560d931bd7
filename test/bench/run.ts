/**
 * `npm run bench`: compares the gateway with a minimal gateway on this machine. docs/lab/performance.md
 * describes
 * the options and the method. Linux only; not part of the tests.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { readGoals } from './goals.ts'
import {
  compareWithLast,
  type Flavour,
  readMemoryGrowth,
  readRatios,
  saveMemoryGrowth,
  saveRatios,
} from './last.ts'
import { describeMachine } from './machine.ts'
import { measureCases } from './measure.ts'
import { describeMemory, growthOf, measureMemory } from './memory.ts'
import { type Options, readOptions } from './options.ts'
import { measureOutside, missingTools } from './outside.ts'
import { profileGateway } from './profile.ts'
import { describeGoalsOf, describeRun, pasteInto, type Run } from './report.ts'
import { type Servers, startServers } from './servers.ts'
import { measureStartUp } from './start-up.ts'
import { asMarkdown, asText } from './tables.ts'

const tell = (text: string) => process.stderr.write(`${text}\n`)
const folder = mkdtempSync(path.join(os.tmpdir(), 'signalbox-bench-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))

const options = readOptions()
if (options.outside) await compareFromOutside(options)
else if (options.memory) await watchMemory(options)
else if (options.profile) process.stdout.write(await profileGateway(options.cases, folder))
else await compareServers(options)

async function compareServers({ cases, quick, only, peers, seconds, ...outputs }: Options): Promise<void> {
  const flavour: Flavour = quick ? 'quick' : 'full'
  const machine = describeMachine()
  const deadline = performance.now() + seconds * 1000
  const endStartUp = only === undefined ? await measureStartUp(quick ? 1 : 5, folder) : undefined
  const needed = new Set(cases.flatMap(({ cells }) => cells.map(({ server }) => server)))
  if (!peers) needed.delete('e')
  const { servers, missing, stop } = await startServers(needed, folder)
  const results = await measureCases(cases, servers, deadline, tell)
  const memory = readMemories(servers)
  await stop()
  const startUp = await endStartUp?.()

  const ratios = readRatios(results)
  const comparisons = compareWithLast(flavour, ratios)
  const goals = readGoals(results, startUp, readMemoryGrowth())
  const run: Run = { machine, results, goals, startUp, memory, missing, comparisons }
  process.stdout.write(describeRun(run))
  if (outputs.json)
    writeFileSync(
      outputs.json,
      `${JSON.stringify({ ...run, flavour, missing: Object.fromEntries(missing) }, null, 2)}\n`,
    )
  if (outputs.markdown) pasteInto(outputs.markdown, 'figures', describeGoalsOf(run))
  if (outputs.save) saveRatios(flavour, machine, ratios)
  if (outputs.strict && comparisons.some(({ fell }) => fell)) process.exitCode = 1
}

async function compareFromOutside({ quick, peers, markdown }: Options): Promise<void> {
  const missing = missingTools()
  if (missing !== undefined) {
    tell(`skipped: ${missing}`)
    return
  }
  const tables = await measureOutside({ folder, seconds: quick ? 5 : 20, peers, tell })
  process.stdout.write(`${describeMachine()}\n\n${tables.map(asText).join('\n')}`)
  if (markdown)
    pasteInto(markdown, 'outside', `${describeMachine()}.\n\n${tables.map(asMarkdown).join('\n')}`)
}

async function watchMemory({ save }: Options): Promise<void> {
  const levels = await measureMemory(folder, tell)
  process.stdout.write(describeMemory(levels))
  if (save) saveMemoryGrowth(growthOf(levels))
}

/** Lists each process once: several users may share one. */
function readMemories(servers: Servers): Run['memory'] {
  const names = new Map([...servers].toReversed().map(([name, server]) => [server.process, name]))
  return Object.fromEntries(
    [...names]
      .toReversed()
      .filter(([, name]) => name !== 'a')
      .map(([process, name]) => [name, process.memory()]),
  )
}
