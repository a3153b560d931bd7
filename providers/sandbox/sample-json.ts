import { isJsonObject, type JsonObject } from '../../core/contract/index.ts'

/** The same value every time that satisfies a JSON schema; `pattern`, `not` and conditions are not looked at. */
export function sampleJson(schema: JsonObject): unknown {
  return sample(schema, { root: schema, name: 'value', openReferences: [] }) ?? null
}

interface SampleContext {
  readonly root: JsonObject
  /** The property being filled. */
  readonly name: string
  /** References being followed: a schema that needs itself has no value. */
  readonly openReferences: readonly string[]
}

/** `undefined` where there is no finite value. */
function sample(schema: unknown, place: SampleContext): unknown {
  if (!isJsonObject(schema)) return sampleText({}, place)
  if (typeof schema.$ref === 'string') return sampleReference(schema.$ref, place)
  if ('const' in schema) return schema.const
  if (Array.isArray(schema.enum)) return schema.enum[0]
  if ('default' in schema) return schema.default
  const choices = schema.anyOf ?? schema.oneOf
  if (Array.isArray(choices)) return sampleChoice(choices, place)
  if (Array.isArray(schema.allOf)) return sampleAll(schema.allOf, place)
  switch (typeOf(schema)) {
    case 'object':
      return sampleObject(schema, place)
    case 'array':
      return sampleArray(schema, place)
    case 'integer':
    case 'number':
      return sampleNumber(schema)
    case 'boolean':
      return true
    case 'null':
      return null
    default:
      return sampleText(schema, place)
  }
}

function sampleReference(reference: string, place: SampleContext): unknown {
  if (place.openReferences.includes(reference)) return undefined
  return sample(resolvePointer(reference, place.root), {
    ...place,
    openReferences: [...place.openReferences, reference],
  })
}

/** Follows a JSON pointer such as `#/$defs/city`. */
function resolvePointer(reference: string, root: JsonObject): unknown {
  const keys = reference.split('/').slice(1)
  return keys.reduce<unknown>((schema, key) => {
    const name = key.replaceAll('~1', '/').replaceAll('~0', '~')
    return isJsonObject(schema) ? schema[name] : undefined
  }, root)
}

function sampleChoice(choices: readonly unknown[], place: SampleContext): unknown {
  for (const choice of choices) {
    const value = sample(choice, place)
    if (value !== undefined) return value
  }
  return undefined
}

function sampleAll(schemas: readonly unknown[], place: SampleContext): unknown {
  const values = schemas.map((schema) => sample(schema, place))
  return values.every(isJsonObject) ? Object.assign({}, ...values) : values[0]
}

function typeOf({ type, properties }: JsonObject): unknown {
  if (type === undefined && isJsonObject(properties)) return 'object'
  return Array.isArray(type) ? type[0] : type
}

function sampleObject(schema: JsonObject, place: SampleContext): JsonObject {
  const properties = isJsonObject(schema.properties) ? schema.properties : {}
  const names = Array.isArray(schema.required) ? schema.required.map(String) : Object.keys(properties)
  return Object.fromEntries(names.map((name) => [name, sample(properties[name], { ...place, name })]))
}

function sampleArray({ items, minItems }: JsonObject, place: SampleContext): readonly unknown[] {
  const item = sample(items, place)
  const length = typeof minItems === 'number' ? Math.min(minItems, 100) : 1
  return item === undefined ? [] : Array<unknown>(length).fill(item)
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

function sampleText({ format, minLength = 0, maxLength }: JsonObject, { name }: SampleContext): string {
  if (typeof format === 'string' && Object.hasOwn(SAMPLES_BY_FORMAT, format))
    return SAMPLES_BY_FORMAT[format] ?? ''
  const text = `sample ${name}`.padEnd(Math.min(Number(minLength), 10_000), '.')
  return typeof maxLength === 'number' ? text.slice(0, maxLength) : text
}
