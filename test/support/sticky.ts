import { chunk, completion, type ScriptedProvider } from './scripted-provider.ts'

/** The best model for short replies, and that for long ones. */
export const CHEAP_INPUT = 'cheap-input'
export const CHEAP_OUTPUT = 'cheap-output'

export const SHORT_REPLY = { max_tokens: 1 }
export const LONG_REPLY = { max_tokens: 500 }

/** Settings of a gateway with these two models, which cost counts for alone, at one provider. */
export function stickySettings(base_url: string, { seconds = 300, cached = 0.1, more = {} } = {}): string {
  const shared = { provider: 'lab', context: 128_000, max_output: 16_000, quality: 50, latency_ms: 100 }
  const row = (id: string, price: object, tools: boolean) => ({
    ...{ id, ...shared, price, capabilities: { tools, images: false, json: 'schema' } },
  })
  const models = [
    row(CHEAP_INPUT, { input: 1, cached, output: 4 }, false),
    row(CHEAP_OUTPUT, { input: 1.5, output: 1 }, true),
  ]
  const settings = {
    rate_limits: { requests_per_minute: { free: null, paid: null } },
    routing: { sticky: { seconds } },
    modes: { cost: { cost: 1000, quality: 1, latency: 1 } },
    providers: {
      lab: { format: 'openai', base_url, auth: 'none', capabilities: { json: 'schema' }, ...more },
    },
    models,
  }
  return Object.entries(settings)
    .map(([name, value]) => `${name}: ${JSON.stringify(value)}\n`)
    .join('')
}

/** A conversation with 2,000 tokens before the first message of the user. */
export function conversation(...texts: readonly string[]) {
  const system = { role: 'system', content: 'Say what the signals of a railway mean. '.repeat(220) }
  const turns = texts.flatMap((content, index) => [
    ...(index === 0 ? [] : [{ role: 'assistant', content: 'Stop.' }]),
    { role: 'user', content },
  ])
  return { messages: [system, ...turns] as const } as { messages: [typeof system, ...typeof turns] }
}

/** Lets the provider reply with a prompt of 2,000 tokens, all of which it found in its cache by default. */
export function playUsage(provider: ScriptedProvider, { cached = 2000, stream = false } = {}): void {
  const usage = {
    prompt_tokens: 2000,
    completion_tokens: 1,
    prompt_tokens_details: { cached_tokens: cached },
  }
  if (stream)
    provider.play({ chunks: [chunk({ content: 'Hi' }, 'stop'), { ...chunk({}), choices: [], usage }] })
  else provider.play({ body: { ...completion({ content: 'Hi' }), usage } })
}
