/**
 * Replays conversations of agents with `routing.sticky` off and on, and compares what they cost:
 * `npm run bench:conversations`. The models and prices are those of the catalogue; the provider is scripted.
 * For each model it caches the prompts that it has read, and it is slower at some times than at others.
 */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { readShippedModels } from '../../config/settings/model-list.ts'
import { costOf } from '../../core/prices/cost.ts'
import { startGateway } from '../support/gateway.ts'
import { createRandom } from '../support/random.ts'
import { withSettings } from '../support/settings.ts'

const { values } = parseArgs({
  options: {
    conversations: { type: 'string', default: '200' },
    turns: { type: 'string', default: '30' },
    seed: { type: 'string', default: '43' },
  },
})
const CONVERSATIONS = Number(values.conversations)
const TURNS = Number(values.turns)
/** Conversations at the same time. */
const CLIENTS = 40
/** Agents with a system prompt of their own, which their conversations share. */
const AGENTS = 10
/** Models that cache prompts by themselves, of which none is always the best. */
const SETS: Readonly<Record<string, readonly string[]>> = {
  mixed: ['gpt-5.4', 'gpt-5.2', 'gpt-5.1', 'gpt-5', 'gemini-3.1-pro-preview', 'gpt-5.4-mini', 'gpt-5-mini'],
  'equal prices': ['gpt-5.1', 'gpt-5'],
}
/** The provider is faster than real ones by this factor. */
const SPEED = 200
const CHARS = { system: 24_000, call: 600, result: 2400 }

interface Message {
  readonly role: string
  readonly content: string
}

interface Totals {
  cost: number
  /** What the same requests to the same models would cost without any cache. */
  uncached: number
  input: number
  cached: number
  switches: number
  kept: number
  readonly models: Map<string, number>
}

const tokensOf = ({ content }: Message) => Math.ceil(content.length / 4)

/** Caches prefixes that end with a message, for the whole run. Less than 1,024 tokens are not cached. */
class PrefixCache {
  readonly #seen = new Map<string, Set<string>>()

  /** Returns how many tokens of the prompt the model has read before, and caches all of it. */
  read(model: string, messages: readonly Message[]): { input: number; cached: number } {
    const seen = this.#seen.get(model) ?? new Set()
    this.#seen.set(model, seen)
    const hash = createHash('sha256')
    let [input, cached] = [0, 0]
    for (const message of messages) {
      hash.update(message.content)
      input += tokensOf(message)
      const prefix = hash.copy().digest('base64')
      if (seen.has(prefix)) cached = input
      seen.add(prefix)
    }
    return { input, cached: cached < 1024 ? 0 : cached }
  }
}

type Row = ReturnType<typeof readShippedModels>[number]

/** A provider in OpenAI's format. Every 100 replies, the speed of each model changes, up to a factor of 3. */
async function startProvider(rows: readonly Row[], seed: number): Promise<Server> {
  const random = createRandom(seed)
  const cache = new PrefixCache()
  const factors = new Map<string, number>()
  let replies = 0
  const server = createServer(async (request, response) => {
    const { model, messages } = (await json(request)) as { model: string; messages: readonly Message[] }
    if (replies++ % 100 === 0)
      for (const { id } of rows) factors.set(id, 3 ** (random.integer(201) / 100 - 1))
    const usual = (rows.find(({ id }) => id === model)?.latency_ms ?? 1000) / SPEED
    await sleep(usual * (factors.get(model) ?? 1))
    const { input, cached } = cache.read(model, messages)
    const usage = {
      prompt_tokens: input,
      completion_tokens: CHARS.call / 4,
      prompt_tokens_details: { cached_tokens: cached },
    }
    const message = { role: 'assistant', content: 'The next call.' }
    const choices = [{ index: 0, message, finish_reason: 'stop' }]
    const body = { id: 'chatcmpl-1', object: 'chat.completion', created: 1, model, choices, usage }
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return server
}

function uncachedCost(
  rows: readonly Row[],
  { model, usage }: { model: string; usage: Record<string, number> },
): number {
  const row = rows.find(({ id }) => id === model)
  const { prompt_tokens: input = 0, completion_tokens: output = 0 } = usage
  return row === undefined ? Number.NaN : costOf(row, { input, output })
}

/** Text that no other place has, about as long as said. */
function textOf(name: string, chars: number): string {
  return `${name} `.repeat(Math.ceil(chars / (name.length + 1)))
}

async function replay(rows: readonly Row[], mode: string, seconds: number): Promise<Totals> {
  const server = await startProvider(rows, Number(values.seed))
  const settings = {
    rate_limits: { requests_per_minute: { free: null, paid: null } },
    routing: { sticky: { seconds } },
    providers: {
      lab: {
        ...{ format: 'openai', auth: 'none', capabilities: { json: 'schema' } },
        base_url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
      },
    },
    models: rows.map(({ id, price, context, max_output, quality, latency_ms, capabilities }) => {
      const figures = { context, max_output, quality, latency_ms: latency_ms / SPEED }
      return { id, provider: 'lab', price, ...figures, capabilities }
    }),
  }
  const yaml = Object.entries(settings).map(([name, value]) => `${name}: ${JSON.stringify(value)}\n`)
  const gateway = await startGateway(await withSettings(yaml.join('')))
  const totals: Totals = {
    cost: 0,
    uncached: 0,
    input: 0,
    cached: 0,
    switches: 0,
    kept: 0,
    models: new Map(),
  }

  async function converse(index: number): Promise<void> {
    const system = textOf(`agent ${index % AGENTS}`, CHARS.system)
    const messages: Message[] = [{ role: 'system', content: system }]
    let last: string | undefined
    for (let turn = 0; turn < TURNS; turn++) {
      messages.push({ role: 'user', content: textOf(`result ${turn} of ${index}`, CHARS.result) })
      const { status, body } = await gateway.call('POST', '/v1/chat/completions', { model: mode, messages })
      if (status !== 200) throw new Error(JSON.stringify(body))
      totals.cost += body.signalbox.cost_usd
      totals.uncached += uncachedCost(rows, body)
      totals.input += body.usage.prompt_tokens
      totals.cached += body.usage.prompt_tokens_details?.cached_tokens ?? 0
      if (body.signalbox.kept_for_prompt_cache) totals.kept += 1
      if (last !== undefined && body.model !== last) totals.switches += 1
      last = body.model
      totals.models.set(body.model, (totals.models.get(body.model) ?? 0) + 1)
      messages.push({ role: 'assistant', content: textOf(`call ${turn} of ${index}`, CHARS.call) })
    }
  }

  let next = 0
  const client = async () => {
    while (next < CONVERSATIONS) await converse(next++)
  }
  await Promise.all(Array.from({ length: CLIENTS }, client))
  await gateway.stop()
  server.close()
  return totals
}

const print = (line: string) => process.stdout.write(`${line}\n`)

print(`${CONVERSATIONS} conversations of ${TURNS} turns, seed ${values.seed}\n`)
print('| models, mode | sticky | cost | without any cache | cached tokens | changes of the model | kept |')
print('|---|---|--:|--:|--:|--:|--:|')
for (const [set, ids] of Object.entries(SETS)) {
  const rows = readShippedModels().filter(({ id }) => ids.includes(id))
  for (const mode of ['auto:balance', 'auto:fast']) {
    const costs: number[] = []
    for (const seconds of [0, 300]) {
      const { cost, uncached, input, cached, switches, kept, models } = await replay(rows, mode, seconds)
      costs.push(cost)
      const share = `${((100 * cached) / input).toFixed(1)} %`
      const figures = [`$${cost.toFixed(2)}`, `$${uncached.toFixed(2)}`, share, switches, kept].join(' | ')
      print(`| ${set}, \`${mode}\` | ${seconds === 0 ? 'off' : 'on'} | ${figures} |`)
      process.stderr.write(`${[...models].map(([model, requests]) => `${model} ${requests}`).join(', ')}\n`)
    }
    const [off = 0, on = 0] = costs
    print(`| | | ${((100 * (on - off)) / off).toFixed(1)} % | | | | |`)
  }
}
