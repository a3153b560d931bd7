import { isJsonObject, type JsonObject } from '../../../core/contract/index.ts'
import { SandboxError } from '../shared/wire-format.ts'

/** Keywords with schemas that strict schemas may have. */
const INNER = ['items', 'anyOf']
const NAMED = ['properties', '$defs', 'definitions']

/** Strict schemas have none of these. */
const REFUSED = [
  ...['allOf', 'oneOf', 'not', 'if', 'then', 'else', 'dependentRequired', 'dependentSchemas'],
  ...['patternProperties', 'uniqueItems', 'default'],
]

/** Throws a `SandboxError` (400) for a schema that OpenAI does not accept as strict. */
export function checkStrictSchema(schema: unknown, issue: string, param: string): void {
  const problem =
    isJsonObject(schema) && schema.type === 'object'
      ? findProblem(schema, [])
      : 'schema must be a JSON Schema of \'type: "object"\''
  if (problem !== undefined)
    throw new SandboxError(400, `${issue}: ${problem}.`, { param, code: 'invalid_json_schema' })
}

function findProblem(schema: unknown, path: readonly string[]): string | undefined {
  if (Array.isArray(schema))
    return firstOf(
      schema.map((each, index) => [String(index), each]),
      path,
    )
  if (!isJsonObject(schema)) return undefined
  const context = `In context=(${path.map((each) => `'${each}'`).join(', ')})`
  const refused = REFUSED.find((keyword) => schema[keyword] !== undefined)
  if (refused !== undefined) return `${context}, '${refused}' is not permitted`
  return (
    findObjectProblem(schema, context) ??
    firstOf(
      INNER.map((keyword) => [keyword, schema[keyword]]),
      path,
    ) ??
    NAMED.map((keyword) => {
      const named = schema[keyword]
      return isJsonObject(named) ? firstOf(Object.entries(named), [...path, keyword]) : undefined
    }).find((problem) => problem !== undefined)
  )
}

function firstOf(
  schemas: readonly (readonly [string, unknown])[],
  path: readonly string[],
): string | undefined {
  for (const [key, schema] of schemas) {
    const problem = findProblem(schema, [...path, key])
    if (problem !== undefined) return problem
  }
  return undefined
}

function findObjectProblem(
  { type, properties, required, additionalProperties }: JsonObject,
  context: string,
) {
  if (type !== 'object' && properties === undefined) return undefined
  if (additionalProperties !== false)
    return `${context}, 'additionalProperties' is required to be supplied and to be false`
  const names = isJsonObject(properties) ? Object.keys(properties) : []
  const missing = names.find((name) => !Array.isArray(required) || !required.includes(name))
  if (missing === undefined) return undefined
  return `${context}, 'required' is required to include every key in properties. Missing '${missing}'`
}
