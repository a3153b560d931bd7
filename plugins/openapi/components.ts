import { isDeepStrictEqual } from 'node:util'
import { isJsonObject, type JsonObject, type TSchema } from '../../core/contract/index.ts'

/** The component schemas of a document. */
export interface Components {
  /** Returns the schema for the document: a reference if it has an `$id`, which becomes a component. */
  add(schema: TSchema): JsonObject
  /** Like `add`; a schema without an `$id` becomes the component `name`. */
  addNamed(schema: TSchema, name: string): JsonObject
  readonly schemas: Readonly<Record<string, JsonObject>>
}

/** A record with keys of any form, as the builder `Type.Record` describes it. */
const ANY_KEY = '^(.*)$'

export function createComponents(): Components {
  const schemas: Record<string, JsonObject> = {}
  const references = new Map<TSchema, JsonObject>()

  function add(schema: TSchema): JsonObject {
    return schema.$id === undefined ? renderFields(splitTypes(schema)) : addComponent(schema, schema.$id)
  }

  function addComponent(schema: TSchema, wantedName: string): JsonObject {
    const known = references.get(schema)
    if (known !== undefined) return known
    const component = renderFields(splitTypes(schema))
    const name = findName(wantedName, component)
    schemas[name] = component
    const reference = { $ref: `#/components/schemas/${name}` }
    references.set(schema, reference)
    return reference
  }

  /** Plugins may use a name that is taken by another schema. */
  function findName(wantedName: string, component: JsonObject): string {
    let name = wantedName
    for (let suffix = 2; ; suffix++) {
      const other = schemas[name]
      if (other === undefined || isDeepStrictEqual(other, component)) return name
      name = `${wantedName}${suffix}`
    }
  }

  function renderFields({ $id: _, ...schema }: JsonObject): JsonObject {
    const { patternProperties, discriminator, ...fields } = replaceBooleanConst(schema)
    const { 'x-documented': documented } = schema
    const entries = Object.entries({ ...fields, ...Object(documented) }).filter(
      ([key]) => !key.startsWith('x-'),
    )
    const rendered: JsonObject = {
      ...Object.fromEntries(entries.map(([key, value]) => [key, render(key, value)])),
      ...renderDiscriminator(discriminator, fields.oneOf),
    }
    if (patternProperties === undefined) return rendered
    const values = isJsonObject(patternProperties) ? patternProperties[ANY_KEY] : undefined
    if (!isJsonObject(values)) return { ...rendered, patternProperties: renderMap(patternProperties) }
    const additionalProperties = Object.keys(values).length === 0 ? true : add(values as TSchema)
    return { ...rendered, additionalProperties }
  }

  /** Maps the values of the field that tells the variants apart. */
  function renderDiscriminator(discriminator: unknown, oneOf: unknown): JsonObject {
    if (!isJsonObject(discriminator) || !Array.isArray(oneOf)) return {}
    const propertyName = String(discriminator.propertyName)
    const mapping = oneOf.flatMap((variant: TSchema) => {
      const { $ref } = add(variant)
      const { const: value, enum: values = [value] } = variant.properties[propertyName]
      return values.map((tag: string) => [tag, $ref])
    })
    return { discriminator: { propertyName, mapping: Object.fromEntries(mapping) } }
  }

  function render(key: string, value: unknown): unknown {
    if (SCHEMAS_BY_NAME.includes(key)) return renderMap(value)
    if (SCHEMA_LISTS.includes(key) && Array.isArray(value)) return value.map((item) => add(item))
    if (SCHEMAS.includes(key) && isJsonObject(value)) return add(value as TSchema)
    return value
  }

  function renderMap(value: unknown): unknown {
    if (!isJsonObject(value)) return value
    return Object.fromEntries(Object.entries(value).map(([key, schema]) => [key, add(schema as TSchema)]))
  }

  return { add, addNamed: (schema, name) => addComponent(schema, schema.$id ?? name), schemas }
}

/** The keywords of JSON Schema whose values contain schemas. */
const SCHEMAS_BY_NAME: readonly string[] = ['properties']
const SCHEMA_LISTS: readonly string[] = ['anyOf', 'oneOf', 'allOf']
const SCHEMAS: readonly string[] = ['items', 'additionalProperties', 'not', 'if', 'then', 'else']

/** The keywords that apply to values of one type. */
const KEYWORDS_BY_TYPE: Readonly<Record<string, readonly string[]>> = {
  array: ['items', 'minItems', 'maxItems', 'uniqueItems', 'contains'],
  object: ['properties', 'required', 'additionalProperties', 'patternProperties', 'propertyNames'],
  string: ['minLength', 'maxLength', 'pattern', 'format'],
  number: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
}

/** A boolean with one value: generated Java does not compile with it, and `not` is ignored. */
function replaceBooleanConst(schema: JsonObject): JsonObject {
  const { const: value, ...others } = schema
  return typeof value === 'boolean' && others.type === 'boolean'
    ? { ...others, not: { const: !value } }
    : schema
}

/** Turns a list of types into a union: many generators do not support two types beside null. */
function splitTypes(schema: JsonObject): JsonObject {
  const { type, ...rest } = schema
  if (!Array.isArray(type) || type.filter((name) => name !== 'null').length < 2) return schema
  const specific = Object.values(KEYWORDS_BY_TYPE).flat()
  const general = Object.entries(rest).filter(([key]) => !specific.includes(key))
  const anyOf = type.map((name: string) => {
    const keywords = KEYWORDS_BY_TYPE[name] ?? []
    return {
      type: name,
      ...Object.fromEntries(Object.entries(rest).filter(([key]) => keywords.includes(key))),
    }
  })
  return { ...Object.fromEntries(general), anyOf }
}
