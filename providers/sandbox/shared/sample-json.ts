import { isJsonObject, type JsonObject } from '../../../core/contract/index.ts'

/**
 * Builds a value that satisfies a JSON Schema, deterministically. Ignores `pattern`, `not` and conditional
 * keywords. Returns null if the schema has no finite value, or one of more than `MAX_CHARS`.
 */
export function sampleJson(schema: JsonObject): unknown {
  const context = { root: schema, name: 'value', openReferences: [], size: { chars: 0 } }
  return sample(schema, context) ?? null
}

/** A short schema can have values of any size, by its references and arrays. */
const MAX_CHARS = 200_000

interface SampleContext {
  readonly root: JsonObject
  /** The name of the property that the value is for. */
  readonly name: string
  /** The references on the path to this schema: one that requires itself has no finite value. */
  readonly openReferences: readonly string[]
  /** Of everything that was sampled so far. */
  readonly size: { chars: number }
}

/** Returns undefined if the schema has no finite value, or the whole value gets too large. */
function sample(schema: unknown, context: SampleContext): unknown {
  const { size } = context
  if (++size.chars > MAX_CHARS) return undefined
  const value = sampleValue(schema, context)
  // Objects and arrays are counted by what they hold, unless the schema has them as they are.
  const isBuilt = typeof value === 'object' && !isGiven(schema)
  if (!isBuilt && value !== undefined) size.chars += JSON.stringify(value).length
  return size.chars > MAX_CHARS ? undefined : value
}

function isGiven(schema: unknown): boolean {
  return isJsonObject(schema) && ('const' in schema || 'enum' in schema || 'default' in schema)
}

function sampleValue(schema: unknown, context: SampleContext): unknown {
  if (!isJsonObject(schema)) return sampleString({}, context)
  if (typeof schema.$ref === 'string') return sampleReference(schema.$ref, context)
  if ('const' in schema) return schema.const
  if (Array.isArray(schema.enum)) return schema.enum[0]
  if ('default' in schema) return schema.default
  const alternatives = schema.anyOf ?? schema.oneOf
  if (Array.isArray(alternatives)) return sampleAny(alternatives, context)
  if (Array.isArray(schema.allOf)) return sampleAll(schema.allOf, context)
  switch (typeOf(schema)) {
    case 'object':
      return sampleObject(schema, context)
    case 'array':
      return sampleArray(schema, context)
    case 'integer':
    case 'number':
      return sampleNumber(schema)
    case 'boolean':
      return true
    case 'null':
      return null
    default:
      return sampleString(schema, context)
  }
}

function sampleReference(reference: string, context: SampleContext): unknown {
  const { root, openReferences } = context
  if (openReferences.includes(reference)) return undefined
  return sample(resolvePointer(reference, root), {
    ...context,
    openReferences: [...openReferences, reference],
  })
}

/** Resolves a JSON pointer such as `#/$defs/city`. */
function resolvePointer(reference: string, root: JsonObject): unknown {
  const keys = reference.split('/').slice(1)
  return keys.reduce<unknown>((schema, key) => {
    const name = key.replaceAll('~1', '/').replaceAll('~0', '~')
    return isJsonObject(schema) ? schema[name] : undefined
  }, root)
}

/** Samples the first alternative that has a finite value. */
function sampleAny(alternatives: readonly unknown[], context: SampleContext): unknown {
  for (const alternative of alternatives) {
    const value = sample(alternative, context)
    if (value !== undefined) return value
  }
  return undefined
}

function sampleAll(schemas: readonly unknown[], context: SampleContext): unknown {
  const values = schemas.map((schema) => sample(schema, context))
  return values.every(isJsonObject) ? Object.assign({}, ...values) : values[0]
}

function typeOf({ type, properties }: JsonObject): unknown {
  if (type === undefined && isJsonObject(properties)) return 'object'
  return Array.isArray(type) ? type[0] : type
}

function sampleObject(schema: JsonObject, context: SampleContext): JsonObject {
  const properties = isJsonObject(schema.properties) ? schema.properties : {}
  const names = Array.isArray(schema.required) ? schema.required.map(String) : Object.keys(properties)
  return Object.fromEntries(names.map((name) => [name, sample(properties[name], { ...context, name })]))
}

function sampleArray({ items, minItems }: JsonObject, context: SampleContext): readonly unknown[] {
  const length = typeof minItems === 'number' ? Math.min(minItems, 100) : 1
  const sampled = Array.from({ length }, () => sample(items, context))
  return sampled.includes(undefined) ? [] : sampled
}

function sampleNumber({ minimum, maximum, exclusiveMinimum, exclusiveMaximum }: JsonObject): number {
  let value = 1
  if (typeof minimum === 'number') value = Math.max(value, minimum)
  if (typeof exclusiveMinimum === 'number') value = Math.max(value, exclusiveMinimum + 1)
  if (typeof maximum === 'number') value = Math.min(value, maximum)
  if (typeof exclusiveMaximum === 'number') value = Math.min(value, exclusiveMaximum - 1)
  return value
}

const SAMPLES_BY_FORMAT: Readonly<Record<string, string>> = {
  date: '2026-01-01',
  time: '12:00:00Z',
  'date-time': '2026-01-01T12:00:00Z',
  duration: 'PT1H',
  email: 'someone@example.com',
  hostname: 'example.com',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  uri: 'https://example.com/',
  uuid: '00000000-0000-4000-8000-000000000000',
}

function sampleString({ format, minLength = 0, maxLength }: JsonObject, { name }: SampleContext): string {
  if (typeof format === 'string' && Object.hasOwn(SAMPLES_BY_FORMAT, format)) {
    return SAMPLES_BY_FORMAT[format] ?? ''
  }
  const text = `sample ${name}`.padEnd(Math.min(Number(minLength), 10_000), '.')
  return typeof maxLength === 'number' ? text.slice(0, maxLength) : text
}
