/** How tests ask an endpoint about a text. */
export interface GuardedEndpoint {
  /** As `call` takes it. */
  readonly path: string
  /** The path that key restrictions, records and metrics show. */
  readonly endpoint: string
  /** A model that the endpoint serves, and its provider. */
  readonly model: string
  readonly body: (text: string) => object
  /** The name of the endpoint in simulations. */
  readonly simulated: string
  /** Default: `openai`. */
  readonly provider?: string
}

/** The endpoints beside chat completions, messages, responses and `/route` that reach a provider. */
export const GUARDED_ENDPOINTS: Readonly<Record<string, GuardedEndpoint>> = {
  embeddings: {
    path: '/v1/embeddings',
    endpoint: '/v1/embeddings',
    simulated: 'embeddings',
    model: 'text-embedding-3-small',
    body: (input) => ({ model: 'text-embedding-3-small', input }),
  },
  completions: {
    path: '/v1/completions',
    endpoint: '/v1/completions',
    simulated: 'completions',
    model: 'gpt-4o',
    body: (prompt) => ({ model: 'gpt-4o', prompt, max_tokens: 5 }),
  },
  moderations: {
    path: '/v1/moderations',
    endpoint: '/v1/moderations',
    simulated: 'moderations',
    model: 'mistral-moderation-latest',
    // OpenAI's costs nothing, so no budget refuses it.
    provider: 'mistral',
    body: (input) => ({ model: 'mistral-moderation-latest', input }),
  },
  'chat completions of Azure': {
    path: '/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21',
    endpoint: '/v1/chat/completions',
    simulated: 'chat',
    model: 'gpt-4o',
    body: (content) => ({ messages: [{ role: 'user', content }], max_tokens: 5 }),
  },
  'embeddings of Azure': {
    path: '/openai/deployments/text-embedding-3-small/embeddings?api-version=2024-10-21',
    endpoint: '/v1/embeddings',
    simulated: 'embeddings',
    model: 'text-embedding-3-small',
    body: (input) => ({ input }),
  },
  'responses of Azure': {
    path: '/openai/v1/responses?api-version=preview',
    endpoint: '/v1/responses',
    simulated: 'responses',
    model: 'gpt-4o',
    body: (input) => ({ model: 'gpt-4o', input, max_output_tokens: 16 }),
  },
  'embeddings of several texts': {
    path: '/v1/embeddings',
    endpoint: '/v1/embeddings',
    simulated: 'embeddings',
    model: 'text-embedding-3-small',
    body: (text) => ({ model: 'text-embedding-3-small', input: ['Track 9', text] }),
  },
}
