import { completionOf, type ScriptedProvider, startScriptedProvider } from './scripted-provider.ts'

/** What the rows of the providers state. */
export const STATED = {
  alpha: { region: 'eu', zdr: true },
  beta: { region: 'europe-west4', retention_days: 30, trains_on_data: false },
  gamma: { region: 'us', zdr: true, retention_days: 0 },
  delta: {},
} as const

export type ProviderId = keyof typeof STATED

export const PROVIDER_IDS = Object.keys(STATED) as readonly ProviderId[]

/** What each model of the catalogue has. `delta-eu` states in its own row what its provider does not. */
export const MODEL_ATTRIBUTES: Readonly<Record<string, object>> = {
  'alpha-1': STATED.alpha,
  'beta-1': STATED.beta,
  'gamma-1': STATED.gamma,
  'delta-1': {},
  'delta-eu': { region: 'eu-west-1', zdr: true },
  'alpha-embed': STATED.alpha,
  'gamma-embed': STATED.gamma,
}

/** A call as a provider received it. */
export interface ReceivedCall {
  readonly provider: ProviderId
  readonly model: string
  readonly text: string
}

/** Providers whose rows state attributes, and settings in which there are no others. */
export interface AttributedProviders {
  readonly settings: string
  readonly calls: ReceivedCall[]
  /** Answers with a reply, an embedding or an error of this status, until it is changed. */
  answer(provider: ProviderId, status?: number): void
  close(): void
}

export async function startAttributedProviders(): Promise<AttributedProviders> {
  const calls: ReceivedCall[] = []
  const servers = new Map<ProviderId, ScriptedProvider>()
  for (const id of PROVIDER_IDS) servers.set(id, await startScriptedProvider())
  const answer = (provider: ProviderId, status = 200) => {
    const body = status === 200 ? REPLY : { error: { message: `status ${status}` } }
    servers.get(provider)?.play({
      status,
      body,
      onRequest: ({ body }) => calls.push({ provider, model: body.model, text: JSON.stringify(body) }),
    })
  }
  for (const id of PROVIDER_IDS) answer(id)
  const providers = PROVIDER_IDS.map((id) => {
    const row = { format: 'openai', base_url: servers.get(id)?.url, auth: 'none', ...STATED[id] }
    return [id, { ...row, capabilities: { json: 'schema' } }]
  })
  return {
    settings: JSON.stringify({
      providers: Object.fromEntries(providers),
      models: Object.keys(MODEL_ATTRIBUTES).map(modelRow),
      rate_limits: { requests_per_minute: { free: null, paid: null } },
    }),
    calls,
    answer,
    close() {
      for (const server of servers.values()) server.close()
    },
  }
}

/** A reply to a chat, and one to an embedding. */
const REPLY = {
  ...completionOf(10, 5),
  model: undefined,
  data: [{ object: 'embedding', index: 0, embedding: [0.1, 0.2] }],
}

function modelRow(id: string, index: number): object {
  const [provider] = id.split('-')
  const isEmbedding = id.endsWith('-embed')
  return {
    ...{ id, provider, context: 100_000, max_output: isEmbedding ? 0 : 10_000 },
    ...(isEmbedding && { operation: 'embeddings', dimensions: { default: 2 } }),
    price: { input: 1 + index, output: isEmbedding ? 0 : 2 + index },
    ...{ quality: 90 - index, latency_ms: 1000, capabilities: { tools: true, images: true, json: 'schema' } },
    ...(id === 'delta-eu' && MODEL_ATTRIBUTES[id]),
  }
}
