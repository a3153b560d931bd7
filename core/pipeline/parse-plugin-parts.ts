import type { PluginParts } from '../contract/index.ts'
import { errorSummary } from '../util/error-message.ts'
import { compileUntrustedValidator, compileValidator, describeSchemaError } from '../util/json-schema.ts'
import { lazy } from '../util/lazy.ts'

const word = {
  type: 'object',
  required: ['name', 'description', 'schema'],
  properties: {
    name: { type: 'string', minLength: 1 },
    description: { type: 'string', minLength: 1 },
    schema: { type: 'object' },
  },
}

const functions = [
  'middleware',
  'decide',
  'routes',
  'publicRoutes',
  'observeRequest',
  'errorBody',
  'close',
] as const

const shapeCheck = lazy(() =>
  compileValidator<PluginParts>({
    type: 'object',
    additionalProperties: false,
    properties: {
      ...Object.fromEntries(functions.map((name) => [name, {}])),
      dialects: { type: 'object' },
      conditions: { type: 'array', items: word },
      actions: {
        type: 'array',
        items: {
          ...word,
          required: [...word.required, 'combine'],
          properties: { ...word.properties, combine: { enum: ['first', 'all'] } },
        },
      },
      openapi: { type: 'object' },
    },
  }),
)

/** Throws what is wrong with what `setup` gave. A misspelt part is refused: a guard would not be there. */
export function parsePluginParts(parts: unknown): PluginParts {
  const checkShape = shapeCheck()
  if (!checkShape(parts)) {
    const faults = (checkShape.errors ?? []).map(describeSchemaError).join('; ')
    throw new Error(`what its setup returns is not made as it should be: ${faults}`)
  }
  for (const name of functions) {
    if (parts[name] !== undefined) requireFunction(name, parts[name])
  }
  for (const condition of parts.conditions ?? []) {
    checkSchema('condition', condition)
    requireFunction(
      `matcher or literals of the condition "${condition.name}"`,
      'matcher' in condition ? condition.matcher : condition.literals,
    )
  }
  for (const action of parts.actions ?? []) {
    checkSchema('action', action)
    requireFunction(`apply of the action "${action.name}"`, action.apply)
  }
  return parts
}

function requireFunction(what: string, value: unknown): void {
  if (typeof value !== 'function') throw new Error(`${what} must be a function`)
}

function checkSchema(
  kind: string,
  { name, schema }: { name: string; schema: PluginParts['openapi'] & object },
): void {
  try {
    compileUntrustedValidator(schema)
  } catch (cause) {
    throw new Error(`the schema of its ${kind} "${name}" is no JSON schema: ${errorSummary(cause)}`, {
      cause,
    })
  }
}
