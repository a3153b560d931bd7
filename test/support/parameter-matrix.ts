import { isDeepStrictEqual } from 'node:util'
import { readSettings } from '../../config/settings/settings.ts'
import {
  type ChatRequest,
  GatewayError,
  isJsonObject,
  type JsonObject,
  type Model,
  type ProviderAdapter,
} from '../../core/contract/index.ts'
import { chatDialect } from '../../plugins/dispatch/chat/dialect.ts'
import { findMissingCapability, requirementsOf } from '../../plugins/routing/requirements.ts'
import { ADAPTERS } from '../../providers/adapters.ts'
import { type Capabilities, limitRequest } from '../../providers/shared/catalog.ts'
import { EFFORTS } from '../../providers/shared/efforts.ts'
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

interface ShippedProvider {
  readonly adapter: ProviderAdapter
  readonly capabilities: Capabilities
  /** Its chat models that are not about to retire. */
  readonly models: readonly Model[]
}

function listProviders(): readonly ShippedProvider[] {
  const { models, providers } = readSettings({})
  return PROVIDERS.map((id) => {
    const adapter = ADAPTERS.find(({ format }) => format === id)
    const capabilities = providers[id]?.capabilities
    if (adapter === undefined || capabilities === undefined) throw new Error(`There is no provider ${id}.`)
    const own = models.filter(({ provider, operation = 'chat', retires }) => {
      return provider === id && operation === 'chat' && retires === undefined
    })
    return { adapter, capabilities, models: own }
  })
}

/** The table in Markdown: what becomes of each parameter at each provider, as the adapters do it. */
export function writeParameterMatrix(): string {
  const providers = listProviders()
  const cells = ROWS.map((each) => [
    each.title,
    ...providers.map(({ adapter, capabilities, models }) => {
      const fates = new Map<Fate, Set<string>>(FATES.map((fate) => [fate, new Set()]))
      for (const model of models) {
        const { fate, fields } = fateOf(each, model, adapter, capabilities)
        fates.get(fate)?.add(fields.join(' and '))
      }
      return FATES.flatMap((fate) => {
        const forms = [...(fates.get(fate) ?? [])]
        if (forms.length === 0) return []
        const shown = forms.filter((form) => form !== '').join(' or ')
        return shown === '' ? fate : `${fate}: ${shown}`
      }).join(' / ')
    }),
  ])
  return toTable(['parameter', ...PROVIDERS], cells)
}

/** The table of efforts: what models get for a `reasoning_effort`. Those that get the same share a row. */
export function writeEffortTable(): string {
  const rows = new Map<string, { cells: readonly string[]; models: string[] }>()
  for (const { adapter, models } of listProviders())
    for (const entry of models) {
      const cells = describeEfforts(entry, adapter)
      const key = [entry.provider, ...cells].join(' | ')
      const row = rows.get(key) ?? { cells, models: [] }
      rows.set(key, { ...row, models: [...row.models, `\`${entry.id}\``] })
    }
  const shown = [...rows.values()].map(({ cells, models }) => [models.join(', '), ...cells])
  return toTable(['models', 'sent in', ...EFFORTS], shown)
}

/** Where models take an effort: the first of these fields that a request has. */
const EFFORT_FIELDS = [
  ...[
    'reasoning_effort',
    'reasoning.effort',
    'prompt_mode',
    'output_config.effort',
    'thinking.budget_tokens',
  ],
  ...['generationConfig.thinkingConfig.thinkingLevel', 'generationConfig.thinkingConfig.thinkingBudget'],
  'thinking.type',
]

function describeEfforts(entry: Model, adapter: ProviderAdapter): readonly string[] {
  const fields = new Set<string>()
  const target = { provider: entry.provider, model: entry.id, entry }
  const cells = EFFORTS.map((effort) => {
    const request = { ...QUESTION, reasoning_effort: effort }
    const { body, omitted, changed = [] } = adapter.buildRequest(request, target)
    const sent = new Map(leavesOf(JSON.parse(String(body))))
    const field = EFFORT_FIELDS.find((each) => sent.has(each))
    if (omitted.length > 0) return 'left out'
    if (field === undefined) return ''
    fields.add(`\`${field}\``)
    return changed.length > 0 ? `${sent.get(field)} *` : `${sent.get(field)}`
  })
  return [[...fields].join(', '), ...cells]
}

const QUESTION: ChatRequest = { messages: [{ role: 'user', content: 'Hello' }] }

/** The fields of an object that are no objects, with their paths. */
function leavesOf(value: unknown, path = ''): readonly (readonly [path: string, value: unknown])[] {
  if (!isJsonObject(value)) return [[path, value]]
  return Object.entries(value).flatMap(([name, field]) => leavesOf(field, path ? `${path}.${name}` : name))
}

function toTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |\n`).join('')
}

const FATES = ['passed', 'converted', 'clamped', 'changed', 'left out', 'ignored', 'refused'] as const

type Fate = (typeof FATES)[number]

interface Outcome {
  readonly fate: Fate
  /** Where the request has it, in Markdown, if not in the field of the same name. */
  readonly fields: readonly string[]
}

function fateOf(
  { param, value, beside }: Row,
  entry: Model,
  adapter: ProviderAdapter,
  capabilities: Capabilities,
): Outcome {
  const asked = typeof value === 'function' ? value(entry) : value
  const messages = [{ role: 'user', content: 'In JSON: hello' }]
  const target = { provider: entry.provider, model: entry.id, entry }
  const without: ChatRequest = parse({ messages, ...beside })
  const only = (fate: Fate): Outcome => ({ fate, fields: [] })
  try {
    const request = parse({ messages, ...beside, [param]: asked })
    const missing = findMissingCapability(entry, capabilities, requirementsOf(request))
    if (missing === param) return only('refused')
    const limited = limitRequest(request, capabilities)
    const { body, omitted, changed = [] } = adapter.buildRequest(limited.request, target)
    if ([...limited.omitted, ...omitted].some((name) => name === param || name.endsWith(` in ${param}`)))
      return only('left out')
    const sent = JSON.parse(String(body))
    if (isDeepStrictEqual(sent[param], asked)) return only('passed')
    const fields = changedFields(JSON.parse(String(adapter.buildRequest(without, target).body)), sent)
    const renamed = fields.length === 1 && fields[0] === `\`${param}\`` ? [] : fields
    if (changed.some((change) => change.param === param))
      return { fate: typeof asked === 'number' ? 'clamped' : 'changed', fields: renamed }
    return fields.length === 0 ? only('ignored') : { fate: 'converted', fields: renamed }
  } catch (error) {
    if (GatewayError.isInstance(error)) return only('refused')
    throw error
  }
}

/** In Markdown, the fields of a body that differ from another; those of objects of settings by path. */
function changedFields(before: JsonObject, after: JsonObject): readonly string[] {
  if (after.input !== undefined && before.input === undefined) return ['the Responses API']
  return Object.keys(after).flatMap((name) => {
    const [was, is] = [before[name], after[name]]
    if (isDeepStrictEqual(was, is)) return []
    if (!SETTINGS.has(name) || !isJsonObject(is)) return `\`${name}\``
    const settings = isJsonObject(was) ? was : {}
    return Object.keys(is)
      .filter((key) => !isDeepStrictEqual(settings[key], is[key]))
      .map((key) => `\`${name}.${key}\``)
  })
}

const SETTINGS: ReadonlySet<string> = new Set([
  ...['generationConfig', 'output_config', 'metadata', 'toolConfig', 'reasoning', 'text'],
])

/** As chat completions parse it, without a context: none of the fields needs one. */
function parse(body: object): ChatRequest {
  const parsed = chatDialect.parseRequest({ ...body }, undefined as never)
  if (parsed instanceof Promise) throw new Error('Chat completions are parsed at once.')
  return parsed
}
