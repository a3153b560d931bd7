import { Nullable, StringEnum, Type } from '../../core/contract/index.ts'
import { Count, Timestamp } from '../../core/http/schemas.ts'
import { CIRCUIT_STATES } from '../../providers/shared/model-breaker.ts'

const optionalText = (description: string) => Nullable(Type.String(), { description })
const Milliseconds = (what: string) =>
  Nullable(Type.Integer({ minimum: 0 }), { description: `${what}, in milliseconds; null without calls.` })

const CallFigures = {
  calls: Count('Calls in the period, without those that clients cancelled.'),
  errors: Count('Calls that failed.'),
  latency_p50_ms: Milliseconds('Median of the time to the reply, or to the first event of a stream'),
  latency_p95_ms: Milliseconds('Of 95 % of the replies, at most this time'),
  last_error: Nullable(
    Type.Object(
      {
        code: Type.String({ description: 'The error code.' }),
        model: Type.String({ description: 'The model that was called.' }),
        deployment: optionalText('The deployment that was called; null if the provider has none.'),
        time: Timestamp('When the request arrived.'),
        request_id: Type.String({ description: 'The request.' }),
      },
      { $id: 'ProviderError', description: 'A call that failed.' },
    ),
    { description: 'The newest call that failed in the period; null if none did.' },
  ),
}

const ProviderTarget = Type.Object(
  {
    model: Type.String({ description: 'The model.' }),
    deployment: optionalText('The deployment; null if the provider has none.'),
    state: StringEnum(CIRCUIT_STATES, { description: 'State of its circuit in this process.' }),
    rest_seconds: Count('Seconds for which it is not chosen: open circuit, or a rate limit. 0 if it is.'),
    rest_reason: Nullable(StringEnum(['circuit', 'rate_limit']), {
      description: 'Why it is not chosen; null if it is.',
    }),
    affected_callers: Count('Callers for whom alone the circuit is not closed.'),
    ...CallFigures,
  },
  { $id: 'ProviderTarget', description: 'A model at a provider, or at one of its deployments.' },
)

const KeySource = Type.Object(
  {
    type: StringEnum(['key', 'none', 'aws', 'google', 'entra'], {
      description: 'How requests authenticate: a key, not at all, or the identity of a cloud.',
    }),
    variable: optionalText('Environment variable of the key; null without one.'),
    file: optionalText('File that the key was read from; null if it is in the variable itself.'),
    is_set: Type.Boolean({ description: 'Whether requests can be authenticated.' }),
  },
  { $id: 'KeySource', description: 'Where the key of a provider comes from. Never the key.' },
)

const optionalLimit = (what: string) =>
  Nullable(Type.Integer({ minimum: 1 }), {
    description: `${what}, over all processes; null without a limit.`,
  })

const ProviderDeployment = Type.Object(
  {
    id: Type.String({ description: 'Its id.' }),
    base_url: optionalText('Its address; null if it is that of the provider.'),
    model: optionalText('The model name in requests; null if it is that of the route.'),
    region: optionalText('Where requests are processed; null if it is not stated.'),
    weight: Type.Number({ description: 'Share of the requests.' }),
    requests_per_minute: optionalLimit('Requests per minute'),
    tokens_per_minute: optionalLimit('Tokens per minute'),
    max_concurrent: optionalLimit('Requests at the same time'),
    requests_in_flight: Count('Requests that this process has sent there, and that have not ended.'),
    key: KeySource,
  },
  { $id: 'ProviderDeployment', description: 'A deployment of a provider.' },
)

const ProviderDetails = Type.Object(
  {
    provider: Type.String({ description: 'Its id.' }),
    format: Type.String({ description: 'Its wire format.' }),
    base_url: optionalText('Its address, without credentials; null if it is that of the format.'),
    is_configured: Type.Boolean({ description: 'Whether requests can be sent to it.' }),
    state: StringEnum(CIRCUIT_STATES, { description: 'The worst state of the circuits of its models.' }),
    key: KeySource,
    region: optionalText('Where requests are processed; null if it is not stated.'),
    balance: Nullable(Type.String(), {
      description: 'How requests are divided among the deployments; null without deployments.',
    }),
    models: Count('Models of the catalogue.'),
    ...CallFigures,
    deployments: Type.Array(ProviderDeployment, { description: 'Its deployments.' }),
    targets: Type.Array(ProviderTarget, {
      description: 'Models that were called in the period, or by this process since it started.',
    }),
  },
  { $id: 'ProviderDetails', description: 'A provider of the settings, and how it does.' },
)

export const ProvidersSchema = Type.Object(
  {
    uses_sandbox: Type.Boolean({ description: 'No provider has a key, and the sandbox answers.' }),
    since: Timestamp('Begin of the period of the figures.'),
    requests: Count('Requests in the period that the figures are made of.'),
    is_partial: Type.Boolean({ description: 'Whether there were more: only the newest ones count.' }),
    providers: Type.Array(ProviderDetails, { description: 'All providers of the settings.' }),
  },
  { $id: 'ProviderReport', description: 'The providers, and how the calls of the last hour went.' },
)

export const ProviderCheck = Type.Object(
  {
    results: Type.Array(
      Type.Object({
        provider: Type.String({ description: 'The provider, such as azure/west for a deployment.' }),
        status: StringEnum(['ok', 'failed', 'not checked'], { description: 'What came out.' }),
        ms: Count('How long it took, in milliseconds.'),
        models: Nullable(Type.Integer({ minimum: 0 }), {
          description: 'How many models it lists; null if it lists none.',
        }),
        missing_models: Type.Array(Type.String(), {
          description: 'Models of the catalogue that it does not list.',
        }),
        message: optionalText('What is wrong, or was not done; null if there is nothing to say.'),
      }),
      { description: 'The provider, or each of its deployments.' },
    ),
  },
  { $id: 'ProviderCheck', description: 'What calls of a provider came to that cost nothing.' },
)
