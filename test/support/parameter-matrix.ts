import { isDeepStrictEqual } from 'node:util'
import { readSettings } from '../../config/settings/settings.ts'
import {
  type ChatRequest,
  GatewayError,
  type Model,
  type ProviderAdapter,
} from '../../core/contract/index.ts'
import { chatDialect } from '../../plugins/dispatch/chat/dialect.ts'
import { findMissingCapability, requirementsOf } from '../../plugins/routing/requirements.ts'
import { ADAPTERS } from '../../providers/adapters.ts'
import { type Capabilities, limitRequest } from '../../providers/shared/catalog.ts'
import { PROVIDERS } from './providers.ts'

const tool = { type: 'function', function: { name: 'look', parameters: { type: 'object', properties: {} } } }
const tools = [tool]
const otherTool = { type: 'function', function: { ...tool.function, name: 'listen' } }
const strictTools = [{ type: 'function', function: { ...tool.function, strict: true } }]
const schema = { type: 'object', properties: { city: { type: 'string' } }, additionalProperties: false }
const constrained = { properties: { city: { type: 'string', pattern: '^[A-Z]' } } }
const named = { type: 'function', function: { name: 'look' } }
const allowed = { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [named] } }

interface Row {
  readonly title: string
  readonly param: string
  readonly value: unknown | ((model: Model) => unknown)
  /** What the parameter needs beside it. */
  readonly beside?: object
}

const row = (title: string, param: string, value: Row['value'], beside: object = {}): Row => ({
  ...{ title, param, value, beside },
})
const code = (param: string, value: unknown) => row(`\`${param}: ${show(value)}\``, param, value)
const show = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value))

const ROWS: readonly Row[] = [
  row('`temperature` up to 1', 'temperature', 0.3),
  row('`temperature` above 1', 'temperature', 1.8),
  row('`top_p`', 'top_p', 0.5),
  row('`top_p` with a `temperature`', 'top_p', 0.5, { temperature: 0.5 }),
  row('`max_tokens`', 'max_tokens', 100),
  row('`max_completion_tokens`', 'max_completion_tokens', 100),
  row("`max_tokens` above the model's maximum", 'max_tokens', ({ max_output }: Model) => max_output + 1),
  row('`stop`', 'stop', ['END']),
  row('`stop`, one of them blank', 'stop', ['END', ' ']),
  row('`presence_penalty`', 'presence_penalty', 0.5),
  row('`frequency_penalty`', 'frequency_penalty', 0.5),
  row('`seed`', 'seed', 7),
  row('`logit_bias`', 'logit_bias', { 50256: -100 }),
  ...['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'].map((each) =>
    code('reasoning_effort', each),
  ),
  row('`verbosity`', 'verbosity', 'low'),
  row('`tools`', 'tools', tools),
  row('`tools` with `strict: true`', 'tools', strictTools),
  row('`tools` of the type `custom`', 'tools', [{ type: 'custom', custom: { name: 'look' } }]),
  ...['none', 'required'].map((each) => ({ ...code('tool_choice', each), beside: { tools } })),
  row('`tool_choice`: one function', 'tool_choice', named, { tools }),
  row('`tool_choice`: `allowed_tools`', 'tool_choice', allowed, { tools: [...tools, otherTool] }),
  { ...code('parallel_tool_calls', false), beside: { tools } },
  row('`response_format: json_object`', 'response_format', { type: 'json_object' }),
  row('`response_format: json_schema`', 'response_format', {
    ...{ type: 'json_schema', json_schema: { name: 'weather', strict: true, schema } },
  }),
  row('`json_schema` with `pattern`', 'response_format', {
    ...{ type: 'json_schema', json_schema: { name: 'weather', schema: { ...schema, ...constrained } } },
  }),
  row('`user`', 'user', 'user-7'),
  row('`metadata`', 'metadata', { tenant: 'acme' }),
  row('`metadata` with `store: true`', 'metadata', { tenant: 'acme' }, { store: true }),
  code('service_tier', 'auto'),
  code('service_tier', 'flex'),
  row('`name` of a message', 'messages', [{ role: 'user', content: 'Hello', name: 'ada' }]),
  row('`prediction`', 'prediction', { type: 'content', content: 'text' }),
  row('`prompt_cache_key`', 'prompt_cache_key', 'key'),
  row('`safety_identifier`', 'safety_identifier', 'user-7'),
  row('`n` above 1', 'n', 2),
  code('logprobs', true),
  row('other fields', 'unheard_of', 1),
]

/** The table in Markdown: what becomes of each parameter at each provider, as the adapters do it. */
export function writeParameterMatrix(): string {
  const { models, providers } = readSettings({})
  const cells = ROWS.map((each) => [
    each.title,
    ...PROVIDERS.map((id) => {
      const adapter = ADAPTERS.find(({ format }) => format === id)
      const capabilities = providers[id]?.capabilities
      if (adapter === undefined || capabilities === undefined) throw new Error(`There is no provider ${id}.`)
      const fates = models
        .filter(({ provider, operation = 'chat', retires }) => {
          return provider === id && operation === 'chat' && retires === undefined
        })
        .map((model) => fateOf(each, model, adapter, capabilities))
      return [...new Set(fates)].sort((a, b) => FATES.indexOf(a) - FATES.indexOf(b)).join(' / ')
    }),
  ])
  return [['parameter', ...PROVIDERS], ['---', ...PROVIDERS.map(() => '---')], ...cells]
    .map((columns) => `| ${columns.join(' | ')} |\n`)
    .join('')
}

const FATES = ['passed', 'converted', 'clamped', 'changed', 'left out', 'ignored', 'refused'] as const

type Fate = (typeof FATES)[number]

function fateOf(
  { param, value, beside }: Row,
  entry: Model,
  adapter: ProviderAdapter,
  capabilities: Capabilities,
): Fate {
  const asked = typeof value === 'function' ? value(entry) : value
  const messages = [{ role: 'user', content: 'In JSON: hello' }]
  const target = { provider: entry.provider, model: entry.id, entry }
  const without: ChatRequest = parse({ messages, ...beside })
  try {
    const request = parse({ messages, ...beside, [param]: asked })
    const missing = findMissingCapability(entry, capabilities, requirementsOf(request))
    if (missing === param) return 'refused'
    const limited = limitRequest(request, capabilities)
    const { body, omitted, changed = [] } = adapter.buildRequest(limited.request, target)
    if ([...limited.omitted, ...omitted].some((name) => name === param || name.endsWith(` in ${param}`)))
      return 'left out'
    if (changed.some((change) => change.param === param))
      return typeof asked === 'number' ? 'clamped' : 'changed'
    if (isDeepStrictEqual(JSON.parse(body)[param], asked)) return 'passed'
    return body === adapter.buildRequest(without, target).body ? 'ignored' : 'converted'
  } catch (error) {
    if (GatewayError.isInstance(error)) return 'refused'
    throw error
  }
}

/** As chat completions parse it, without a context: none of the fields needs one. */
function parse(body: object): ChatRequest {
  const parsed = chatDialect.parseRequest({ ...body }, undefined as never)
  if (parsed instanceof Promise) throw new Error('Chat completions are parsed at once.')
  return parsed
}
