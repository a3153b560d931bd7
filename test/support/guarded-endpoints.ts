/** How tests ask an endpoint about a text. */
export interface GuardedEndpoint {
  /** As `call` takes it. */
  readonly path: string
  /** The path that key restrictions, records and metrics show. */
  readonly endpoint: string
  /** A model that the endpoint serves, and its provider. */
  readonly model: string
  readonly body: (text: string) => object
}

/** The endpoints beside chat completions, messages, responses and `/route` that reach a provider. */
export const GUARDED_ENDPOINTS: Readonly<Record<string, GuardedEndpoint>> = {
  embeddings: {
    path: '/v1/embeddings',
    endpoint: '/v1/embeddings',
    model: 'text-embedding-3-small',
    body: (input) => ({ model: 'text-embedding-3-small', input }),
  },
  'embeddings of several texts': {
    path: '/v1/embeddings',
    endpoint: '/v1/embeddings',
    model: 'text-embedding-3-small',
    body: (text) => ({ model: 'text-embedding-3-small', input: ['Track 9', text] }),
  },
}
