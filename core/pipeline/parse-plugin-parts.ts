import {
  type Condition,
  type JsonObject,
  OPERATOR_ROLES,
  type PluginParts,
  type ProviderAdapter,
  SCOPED_ACCESS,
} from '../contract/index.ts'
import { errorSummary } from '../util/error-message.ts'
import { compileUntrustedValidator, compileValidator, describeSchemaErrors } from '../util/json-schema.ts'
import { lazy } from '../util/lazy.ts'

/** Validates the result of a plugin's `setup`. Throws on unknown fields: a misspelled guard would not run. */
export function parsePluginParts(parts: unknown): PluginParts {
  const validate = partsValidator()
  if (!validate(parts)) {
    throw new Error(`setup returned an invalid result: ${describeSchemaErrors(validate.errors).join('; ')}`)
  }
  for (const name of PLUGIN_FUNCTIONS) {
    if (parts[name] !== undefined) checkFunction(name, parts[name])
  }
  for (const condition of parts.conditions ?? []) {
    checkOperatorSchema('condition', condition)
    checkHeaders(condition)
    checkFunction(
      `matcher or literals of the condition "${condition.name}"`,
      'matcher' in condition ? condition.matcher : condition.literals,
    )
  }
  for (const action of parts.actions ?? []) {
    checkOperatorSchema('action', action)
    if (action.chooses !== undefined && action.combine !== 'first')
      throw new Error(`combine of the action "${action.name}" must be "first", since it has "chooses"`)
    checkFunction(`apply of the action "${action.name}"`, action.apply)
  }
  for (const adapter of parts.providers ?? []) {
    const title = `the wire format "${adapter.format}"`
    for (const name of ADAPTER_FUNCTIONS) {
      const value = (adapter as Partial<ProviderAdapter>)[name]
      if (value !== undefined || !('fields' in adapter || OPTIONAL_FUNCTIONS.has(name)))
        checkFunction(`${name} of ${title}`, value)
    }
  }
  for (const endpoint of parts.endpoints ?? []) {
    const title = `${endpoint.method} ${endpoint.path}`
    checkFunction(`handle of ${title}`, endpoint.handle)
    const { params = {}, query = {}, body } = endpoint
    for (const [name, schema] of Object.entries({ ...params, ...query, ...(body && { body }) }))
      checkSchema(`the schema of ${name} of ${title}`, schema)
  }
  return parts
}

/** The parts that are functions. */
const PLUGIN_FUNCTIONS = [
  'admit',
  'decide',
  'confirm',
  'reply',
  'inspect',
  'confirmReply',
  'rejected',
  'middleware',
  'observe',
  'close',
] as const

const PLUGIN_VALUES = [
  'providers',
  'dialects',
  'conditions',
  'actions',
  'endpoints',
  'errorCodes',
] as const satisfies readonly (keyof PluginParts)[]

/** The names of all parts. */
export const PLUGIN_PARTS = [...PLUGIN_FUNCTIONS, ...PLUGIN_VALUES] as const

const ADAPTER_FUNCTIONS = [
  ...(['buildAuthHeaders', 'buildRequest', 'parseReply', 'createStreamReader', 'parseError'] as const),
  'authorize' as const,
]

/** Chat formats may leave out the others, too. */
const OPTIONAL_FUNCTIONS: ReadonlySet<string> = new Set(['parseError', 'authorize'])

const adapterSchema = {
  type: 'object',
  required: ['format'],
  properties: {
    format: { type: 'string', pattern: '^[a-z][a-z0-9-]*$' },
    otherFields: { enum: ['send', 'drop'] },
    reads: { type: 'array', items: { type: 'string' } },
    frames: { anyOf: [{ enum: ['sse', 'ndjson'] }, { type: 'object', required: ['createReader'] }] },
  },
}

const operatorSchema = {
  type: 'object',
  required: ['name', 'description', 'schema'],
  properties: {
    name: { type: 'string', minLength: 1 },
    description: { type: 'string', minLength: 1 },
    schema: { type: 'object' },
  },
}

const conditionSchema = {
  ...operatorSchema,
  properties: {
    ...operatorSchema.properties,
    headers: { type: 'array', items: { type: 'string', pattern: '^[a-z0-9-]+$' } },
  },
}

const endpointSchema = {
  type: 'object',
  required: ['method', 'path', 'access', 'operationId', 'summary', 'tags', 'responses'],
  properties: {
    method: { enum: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] },
    path: { type: 'string', pattern: '^/' },
    access: {
      type: 'object',
      required: ['type'],
      properties: {
        type: { enum: ['public', 'user', 'operator'] },
        role: { enum: [...OPERATOR_ROLES] },
        scoped: { enum: [...SCOPED_ACCESS] },
      },
      anyOf: [{ properties: { type: { enum: ['public', 'user'] } } }, { required: ['role'] }],
    },
    operationId: { type: 'string', pattern: '^[A-Za-z]\\w*$' },
    summary: { type: 'string', minLength: 1 },
    tags: { type: 'array', items: { type: 'string' } },
    responses: {
      type: 'object',
      minProperties: 1,
      propertyNames: { pattern: '^[1-5]\\d\\d$' },
      additionalProperties: {
        type: 'object',
        required: ['description'],
        properties: { description: { type: 'string' } },
      },
    },
    errorStyle: { enum: ['general', 'openai'] },
  },
}

const errorSchema = {
  type: 'object',
  required: ['status', 'type', 'description'],
  properties: {
    status: { type: 'integer', minimum: 400, maximum: 599 },
    type: { type: 'string', minLength: 1 },
    description: { type: 'string', minLength: 1 },
    failsClosed: { enum: [true] },
    of: { enum: ['inference', 'users'] },
  },
}

const partsValidator = lazy(() =>
  compileValidator<PluginParts>({
    type: 'object',
    additionalProperties: false,
    properties: {
      ...Object.fromEntries(PLUGIN_FUNCTIONS.map((name) => [name, {}])),
      providers: { type: 'array', items: adapterSchema },
      dialects: { type: 'object' },
      conditions: { type: 'array', items: conditionSchema },
      actions: {
        type: 'array',
        items: {
          ...operatorSchema,
          required: [...operatorSchema.required, 'combine'],
          properties: {
            ...operatorSchema.properties,
            combine: { enum: ['first', 'all'] },
            chooses: { type: 'string', minLength: 1 },
          },
        },
      },
      endpoints: { type: 'array', items: endpointSchema },
      errorCodes: { type: 'object', additionalProperties: errorSchema },
    },
  }),
)

function checkFunction(name: string, value: unknown): void {
  if (typeof value !== 'function') throw new Error(`${name} must be a function`)
}

function checkOperatorSchema(
  kind: 'condition' | 'action',
  { name, schema }: { readonly name: string; readonly schema: JsonObject },
): void {
  checkSchema(`the schema of its ${kind} "${name}"`, schema)
}

/** Names of headers that carry credentials. Clients of OpenAI send keys as a WebSocket protocol, too. */
const CREDENTIALS =
  /(^|-)(auth(orization)?|cookies?|(api|access|subscription)-?key|password|secret|token|websocket-protocol)$/

/** Headers that conditions declare are recorded with prompts. */
function checkHeaders({ name, headers = [] }: Condition): void {
  const refused = headers.find((header) => CREDENTIALS.test(header))
  if (refused === undefined) return
  throw new Error(
    `the condition "${name}" declares the header "${refused}", which carries credentials: ` +
      'conditions cannot read it, and it is never recorded',
  )
}

function checkSchema(title: string, schema: JsonObject): void {
  try {
    compileUntrustedValidator(schema)
  } catch (cause) {
    throw new Error(`${title} is not a valid JSON schema: ${errorSummary(cause)}`, { cause })
  }
}
