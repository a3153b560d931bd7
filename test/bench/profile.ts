import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { ROOT } from '../support/root.ts'
import type { Case } from './case.ts'
import { startGateway } from './gateway.ts'
import { load } from './load.ts'
import { benchFile, startProcess } from './processes.ts'
import { stageOf } from './stages.ts'
import { asText } from './tables.ts'

interface ProfileNode {
  readonly id: number
  readonly callFrame: { readonly functionName: string; readonly url: string }
  readonly children?: readonly number[]
}

interface Profile {
  readonly nodes: readonly ProfileNode[]
  readonly samples: readonly number[]
  /** Microseconds between samples. */
  readonly timeDeltas: readonly number[]
  /** Microseconds of the monotonic clock that `process.hrtime` reads, too. */
  readonly startTime: number
}

const SECONDS = 15

/** The same program in a file per module, so that functions can be told apart by file. */
const MODULES = fileURLToPath(new URL('dist/config/main.js', ROOT))

/**
 * Runs the first case with V8's CPU profiler on the gateway with the rules of (d), and sums the self time of
 * all functions by stage.
 */
export async function profileGateway([one]: readonly Case[], folder: string): Promise<string> {
  const cell = one?.cells.findLast(({ server }) => server === 'd' || server === 'c')
  if (one === undefined || cell === undefined) throw new Error('This case has no cell at (c) or (d).')
  const upstream = await startProcess(benchFile('upstream.ts'))
  const nodeArgs = ['--cpu-prof', `--cpu-prof-dir=${folder}`]
  const gateway = await startGateway({
    folder,
    name: 'profiled',
    upstream: upstream.line,
    rules: 100,
    nodeArgs,
    program: MODULES,
  })
  const aim = { url: gateway.url + cell.path, headers: gateway.headers, body: cell.body }
  await load(aim, { connections: one.connections, seconds: SECONDS / 3 })
  const from = readClock()
  const { requests } = await load(aim, { connections: one.connections, seconds: SECONDS })
  const to = readClock()
  await Promise.all([gateway.process.stop(), upstream.stop()])

  const main = readdirSync(folder).find((name) => /\.0\.\d+\.cpuprofile$/.test(name))
  if (main === undefined) throw new Error('Node wrote no profile of the main thread.')
  const stages = sumByStage(JSON.parse(readFileSync(path.join(folder, main), 'utf8')), from, to)
  return `\n${one.title}, with the rules of (d): main thread, ${requests} requests\n${asText(tabulate(stages, requests))}`
}

function readClock(): number {
  return Number(process.hrtime.bigint() / 1000n)
}

/** Sums the samples between two times by stage, in microseconds. */
function sumByStage(profile: Profile, from: number, to: number): ReadonlyMap<string, number> {
  const stages = findStages(profile.nodes)
  const sums = new Map<string, number>()
  let now = profile.startTime
  for (const [index, id] of profile.samples.entries()) {
    const delta = profile.timeDeltas[index] ?? 0
    now += delta
    const stage = stages.get(id) ?? ''
    if (now >= from && now <= to) sums.set(stage, (sums.get(stage) ?? 0) + delta)
  }
  return sums
}

function findStages(nodes: readonly ProfileNode[]): ReadonlyMap<number, string> {
  const stages = new Map<number, string>()
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const visit = ({ id, callFrame, children = [] }: ProfileNode, caller: string) => {
    const stage = stageOf(callFrame.url, callFrame.functionName, caller)
    stages.set(id, stage)
    for (const child of children) {
      const node = byId.get(child)
      if (node) visit(node, stage)
    }
  }
  const [root] = nodes
  if (root) visit(root, 'elsewhere')
  return stages
}

function tabulate(stages: ReadonlyMap<string, number>, requests: number) {
  const total = [...stages.values()].reduce((sum, value) => sum + value, 0)
  const rows = [...stages].sort(([, left], [, right]) => right - left)
  const cells = rows.map(([stage, micros]) => [
    stage,
    (micros / requests).toFixed(1),
    `${((micros / total) * 100).toFixed(1)} %`,
  ])
  return [['stage', 'µs a request', 'share'], ...cells]
}
