/**
 * Compares gateways with learned routing `on` and `off`, by turns, for prompts of varied words whose model is
 * chosen automatically: `npm run build && npx tsx test/bench/learned.ts`. With `--same`, both are `off`,
 * which shows how much two processes differ. Linux only.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { CHAT } from './case.ts'
import { administer, type BenchGateway, startGateway } from './gateway.ts'
import { type Load, load } from './load.ts'
import { describeMachine } from './machine.ts'
import { median } from './median.ts'
import { benchFile, type ServerProcess, startProcess } from './processes.ts'
import { importRatings, writeVariedPrompts } from './rated-prompts.ts'

const { values } = parseArgs({
  options: {
    /** Pairs of processes: two processes of the same program differ by more than is to be measured. */
    pairs: { type: 'string', default: '3' },
    rounds: { type: 'string', default: '12' },
    seconds: { type: 'string', default: '2' },
    characters: { type: 'string', default: '450' },
    same: { type: 'boolean', default: false },
    /** The `main.js` of another version, which the second process of each pair runs. */
    other: { type: 'string' },
  },
})

const MODEL = 'auto:quality'
/** The best model by every figure, so that both gateways choose it. */
const BEST = {
  id: 'gpt-4o',
  provider: 'openai',
  context: 128_000,
  max_output: 16_384,
  price: { input: 0.001, output: 0.001 },
  quality: 100,
  latency_ms: 1,
  capabilities: { tools: true, images: true, json: 'schema' },
}
const CONNECTIONS = 16
const PROMPTS = 500
/** CPU time after which V8 has optimized the code. */
const WARM_CPU_SECONDS = 20

type Mode = 'off' | 'on'

interface Sample {
  /** CPU time per request, in microseconds. */
  readonly all: number
  readonly main: number
}

const folder = mkdtempSync(path.join(os.tmpdir(), 'signalbox-bench-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
const bodies = writeVariedPrompts(PROMPTS, Number(values.characters)).map((content) =>
  JSON.stringify({ model: MODEL, messages: [{ role: 'user', content }] }),
)

const tell = (text: string) => process.stdout.write(`${text}\n`)
const upstream = await startProcess(benchFile('upstream.ts'))
tell(describeMachine())
const second: Mode = values.same ? 'off' : 'on'
tell(`${second} ÷ off: requests per CPU second of all threads, of the main thread (quartiles of the rounds)`)
const ratios: Sample[] = []
for (let pair = 1; pair <= Number(values.pairs); pair++) ratios.push(await comparePair(pair, upstream))
await upstream.stop()
tell(`median of ${ratios.length} pairs: ${show(ratios, 'all')}, main thread ${show(ratios, 'main')}`)

async function comparePair(pair: number, { line }: ServerProcess): Promise<Sample> {
  const off = await start('off', `${pair}-a`, line)
  const on = await start(second, `${pair}-b`, line)
  const model = await answeringModel(off)
  const other = await answeringModel(on)
  if (other !== model) throw new Error(`The gateways choose different models: ${model}, ${other}.`)
  await Promise.all([warmUp(off), warmUp(on)])
  const seen: Sample[] = []
  const samples: [Sample, Sample][] = []
  for (let round = 0; round < Number(values.rounds); round++) {
    const isReversed = round % 2 === 1
    const earlier = await measure(isReversed ? on : off)
    const later = await measure(isReversed ? off : on)
    const [offSample, onSample] = isReversed ? [later, earlier] : [earlier, later]
    samples.push([offSample, onSample])
    seen.push({ all: offSample.all / onSample.all, main: offSample.main / onSample.main })
  }
  await Promise.all([off.process.stop(), on.process.stop()])
  const micros = (side: 0 | 1) => median(samples.map((both) => both[side].main)).toFixed(1)
  tell(
    `  pair ${pair}: ${show(seen, 'all')}, main thread ${show(seen, 'main')}; ${micros(0)} and ${micros(1)} µs, ${model}`,
  )
  return { all: median(seen.map(({ all }) => all)), main: median(seen.map(({ main }) => main)) }
}

/** Starts a gateway. One that decides with a router is trained from the same ratings each time. */
async function start(learned: Mode, name: string, upstreamUrl: string): Promise<BenchGateway> {
  const options = { folder, name, upstream: upstreamUrl, settings: { routing: { learned }, models: [BEST] } }
  const program = name.endsWith('b') ? values.other : undefined
  const gateway = await startGateway({ ...options, ...(program && { program }) })
  if (learned === 'off') return gateway
  await importRatings(`${gateway.url}/admin/feedback?format=jsonl`)
  await administer(`${gateway.url}/admin/routers/train`, {})
  await administer(`${gateway.url}/admin/routers/1/activate`, {})
  return gateway
}

/** Returns the model that answers all prompts; rejects if there are several. */
async function answeringModel({ url, headers }: BenchGateway): Promise<string> {
  const models = new Set<string>()
  for (const body of bodies.slice(0, 100)) {
    const all = { ...headers, 'content-type': 'application/json' }
    const response = await fetch(url + CHAT, { method: 'POST', headers: all, body })
    await response.arrayBuffer()
    models.add(`${response.headers.get('x-provider')}:${response.headers.get('x-model')}`)
  }
  const [model = 'none', ...others] = models
  if (others.length > 0) throw new Error(`Several models answer: ${[...models].join(', ')}.`)
  return model
}

async function warmUp(gateway: BenchGateway): Promise<void> {
  while (gateway.process.mainThreadSeconds() < WARM_CPU_SECONDS) await send(gateway, 1)
}

function send({ url, headers }: BenchGateway, seconds: number): Promise<Load> {
  return load({ url: url + CHAT, headers, body: bodies }, { connections: CONNECTIONS, seconds })
}

async function measure(gateway: BenchGateway): Promise<Sample> {
  await send(gateway, 0.3)
  const before = [gateway.process.cpuSeconds(), gateway.process.mainThreadSeconds()] as const
  const { requests, failures } = await send(gateway, Number(values.seconds))
  if (failures > 0) throw new Error(`${failures} requests failed.`)
  return {
    all: ((gateway.process.cpuSeconds() - before[0]) * 1e6) / requests,
    main: ((gateway.process.mainThreadSeconds() - before[1]) * 1e6) / requests,
  }
}

function show(samples: readonly Sample[], what: keyof Sample): string {
  const sorted = samples.map((sample) => sample[what]).sort((a, b) => a - b)
  const at = (share: number) => (sorted[Math.round((sorted.length - 1) * share)] ?? 0).toFixed(3)
  return `${median(sorted).toFixed(3)} (${at(0.25)} to ${at(0.75)})`
}
