import type { JsonObject } from '../contract/index.ts'

/**
 * Which values of a canonical request rules inspect (docs/guides/firewall.md, "What is inspected").
 * Everything is inspected unless this table exempts it: a field that is not listed is inspected with its
 * name.
 */
export interface Inspection {
  /** How a string or number is inspected. */
  readonly scalar: ScalarRule
  /** The known fields of an object, and of each object in a list. Their names are not inspected. */
  readonly fields?: ReadonlyMap<string, Inspection>
  /** For fields that are not listed; default: everything in them is inspected. */
  readonly others?: Inspection
  /** How the names of fields that are not listed are inspected; default: as text. */
  readonly names?: ScalarRule
  /** A field that is valid only while all others stay as they are: removed when one of them changes. */
  readonly seal?: string
  /** Chooses the inspection of an object by its value. */
  select?(value: JsonObject): Inspection
}

/**
 * - `text`: inspected.
 * - `json`: a string that may hold a JSON document: its strings, numbers and keys are inspected one by one.
 * - `media`: binary media is exempt; a text file in base64 is decoded and inspected; anything else is text.
 * - `url`: inspected as it stands and percent-decoded.
 * - `exempt`: a string or number that is never inspected; objects and lists in its place are.
 * - `unsent`: sent to no provider, so nothing in it is inspected.
 * - `parameter`: a number of up to seven characters is exempt; anything else is inspected.
 * - `signature`: opaque base64 of at least 64 characters is exempt; anything else is inspected.
 * - a set of words: these words are exempt; anything else is inspected.
 */
export type ScalarRule =
  | 'text'
  | 'json'
  | 'media'
  | 'url'
  | 'exempt'
  | 'unsent'
  | 'parameter'
  | 'signature'
  | ReadonlySet<string>

export const INSPECTED: Inspection = { scalar: 'text' }
export const JSON_TEXT: Inspection = { scalar: 'json' }
export const EXEMPT: Inspection = { scalar: 'exempt' }
export const PARAMETER: Inspection = { scalar: 'parameter' }
export const MEDIA: Inspection = { scalar: 'media' }
export const URL_TEXT: Inspection = { scalar: 'url' }
export const SIGNATURE: Inspection = { scalar: 'signature' }

export function objectOf(
  fields: Readonly<Record<string, Inspection>>,
  scalar: ScalarRule = 'text',
): Inspection {
  return { scalar, fields: new Map(Object.entries(fields)) }
}

export function oneOf(...words: readonly string[]): Inspection {
  return { scalar: new Set(words) }
}

/** A JSON schema. The names of properties are inspected like all text. */
export const SCHEMA: Inspection = buildSchemaInspection()

function buildSchemaInspection(): Inspection {
  const fields = new Map<string, Inspection>()
  const schema: Inspection = { scalar: 'text', fields }
  const schemasByName: Inspection = { scalar: 'text', fields: new Map(), others: schema }
  fields.set('type', oneOf('string', 'number', 'integer', 'boolean', 'object', 'array', 'null'))
  for (const name of ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'])
    fields.set(name, schemasByName)
  for (const name of ['items', 'prefixItems', 'additionalProperties', 'anyOf', 'allOf', 'oneOf', 'not'])
    fields.set(name, schema)
  for (const name of ['minLength', 'maxLength', 'minItems', 'maxItems', 'minimum', 'maximum', 'multipleOf'])
    fields.set(name, PARAMETER)
  for (const name of ['title', 'description', 'enum', 'const', 'default', 'examples', 'required', 'format'])
    fields.set(name, INSPECTED)
  for (const name of ['pattern', '$ref', '$schema', '$id']) fields.set(name, INSPECTED)
  return schema
}

export const CACHE_CONTROL = objectOf({ type: oneOf('ephemeral'), ttl: oneOf('5m', '1h') })

const MAX_PARAMETER_LENGTH = 7

/** A string in place of a number. A word of seven letters would be exempt otherwise. */
const NUMBER_TEXT = /^[\d.+-]{0,7}$/

const SIGNATURE_TEXT = /^[A-Za-z0-9+/_=-]{64,}$/

/** Roles, types, ids and names. Prose in their place would reach the model. */
const NAME = /^[!-~]{0,256}$/

/** Whether rules do not inspect a text. JSON and media are inspected in ways of their own. */
export function isExemptText(text: string, rule: ScalarRule): boolean {
  switch (rule) {
    case 'text':
    case 'json':
    case 'media':
    case 'url':
      return false
    case 'exempt':
      return NAME.test(text)
    case 'unsent':
      return true
    case 'signature':
      return SIGNATURE_TEXT.test(text)
    case 'parameter':
      return NUMBER_TEXT.test(text)
    default:
      return rule.has(text)
  }
}

/** Whether rules do not inspect a number, given as text. */
export function isExemptNumber(text: string, rule: ScalarRule): boolean {
  return (
    rule === 'exempt' || rule === 'unsent' || (rule === 'parameter' && text.length <= MAX_PARAMETER_LENGTH)
  )
}

/** The inspection of the items of a list. An id or a role is exempt, a list of texts in its place is not. */
export function inspectionOfItems(inspection: Inspection): Inspection {
  return inspection.scalar === 'exempt' && inspection.fields === undefined ? INSPECTED : inspection
}
