import type { ErrorObject, ValidateFunction } from 'ajv'
import { GatewayError, isJsonObject, type JsonObject, type Static, type TSchema } from '../contract/index.ts'
import { ALL_ERRORS, compileSchema, compileSchemaLazily, createAjv } from './compile-schema.ts'
import { findNearest } from './find-nearest.ts'
import { lazy } from './lazy.ts'
import { toValidationSchema } from './validation-schema.ts'

const untrustedAjv = lazy(() => createAjv(ALL_ERRORS))
const untrustedOptionsAjv = lazy(() => createAjv({ ...ALL_ERRORS, useDefaults: true }))

/** Compiles a built-in schema into a validator that finds all errors. Use it for input of operators. */
export function compileValidator<T>(schema: JsonObject): ValidateFunction<T> {
  return compileSchema(schema, 'all-errors')
}

/**
 * Like `compileValidator`, for the schema of a plugin package. Throws if the schema is not a valid JSON
 * schema.
 */
export function compileUntrustedValidator<T>(schema: JsonObject): ValidateFunction<T> {
  return untrustedAjv().compile<T>(toValidationSchema(schema))
}

/**
 * Compiles the options schema of a plugin into a validator that finds all errors and adds the defaults of the
 * schema to the validated object. Throws if the schema of a plugin package is not a valid JSON schema.
 */
export function compileOptionsValidator(
  schema: JsonObject,
  isBuiltIn: boolean,
): ValidateFunction<JsonObject> {
  if (isBuiltIn) return compileSchema<JsonObject>(schema, 'all-errors-with-defaults')
  return untrustedOptionsAjv().compile<JsonObject>(schema)
}

/** Returns a type guard for a built-in schema. The schema is compiled on first use. */
export function createLazyTypeGuard<T>(schema: JsonObject): (value: unknown) => value is T {
  const validate = compileSchemaLazily<T>(() => toValidationSchema(schema), 'first-error')
  return (value): value is T => validate()(value)
}

/**
 * Returns a parser of request bodies for a built-in schema: it returns the value with its type, or throws a
 * `GatewayError` (400) that names the field and the constraint. The schema is compiled on first use.
 */
export function createLazyParser<Schema extends TSchema>(schema: Schema): (value: unknown) => Static<Schema> {
  const compile = compileSchemaLazily<Static<Schema>>(() => toValidationSchema(schema), 'first-error')
  return (value) => {
    const validate = compile()
    if (validate(value)) return value
    throw toGatewayError(validate.errors)
  }
}

function toGatewayError(errors: SchemaErrors): GatewayError {
  const [error] = selectErrors(errors)
  if (error === undefined) return new GatewayError('invalid_value', 'The body is not valid.')
  const found = sortFieldErrors(error)
  const message = `${found.map((each) => describeError(each, 'the body')).join('; ')}.`
  const { keyword, params } = found[0] ?? error
  if (keyword === 'required') {
    const param = joinPath(fieldPath(error), params.missingProperty)
    return new GatewayError('missing_parameter', message, { param })
  }
  const param = fieldPath(error)
  return new GatewayError('invalid_value', capitalize(message, param), param ? { param } : {})
}

/** More of them are not worth naming. */
const MAX_NAMED_FIELDS = 10

/**
 * Validators stop at the first error. An unknown field is often the misspelled name of a missing one, so all
 * fields of an object that are missing or unknown are reported together, missing ones first.
 */
function sortFieldErrors(error: ErrorObject): readonly ErrorObject[] {
  const { keyword, data, parentSchema } = error
  if ((keyword !== 'required' && keyword !== 'additionalProperties') || !isJsonObject(data)) return [error]
  const {
    required = [],
    properties = {},
    patternProperties,
    additionalProperties,
  }: JsonObject = parentSchema ?? {}
  const missing = Array.isArray(required) ? required.filter((name) => !Object.hasOwn(data, name)) : []
  const unknown =
    additionalProperties === false && patternProperties === undefined && isJsonObject(properties)
      ? Object.keys(data).filter((name) => !Object.hasOwn(properties, name))
      : []
  const errors = [
    ...missing.map((missingProperty) => ({ ...error, keyword: 'required', params: { missingProperty } })),
    ...unknown.map((additionalProperty) => ({
      ...error,
      keyword: 'additionalProperties',
      params: { additionalProperty },
    })),
  ]
  return errors.length === 0 ? [error] : errors.slice(0, MAX_NAMED_FIELDS)
}

/** Field names keep their case: only messages about the whole body start with a capital letter. */
function capitalize(message: string, field: string): string {
  return field ? message : message.charAt(0).toUpperCase() + message.slice(1)
}

type SchemaErrors = readonly ErrorObject[] | null | undefined

/**
 * Describes the errors of a validator, each as a clause without a period: "port must be between 0 and 65535".
 * Omits errors that only summarize others, and those of `anyOf` or `oneOf` branches for another type of
 * value.
 */
export function describeSchemaErrors(errors: SchemaErrors): string[] {
  return selectErrors(errors).map((error) => describeError(error, 'the value'))
}

/** Omits errors that only summarize others, and reports a failed union by one error or one branch. */
function selectErrors(errors: SchemaErrors): readonly ErrorObject[] {
  let selected = (errors ?? []).filter(({ keyword }) => !SUMMARIES.has(keyword))
  // Errors of a union follow those of its branches, so inner unions come first.
  for (const union of selected.filter(({ keyword }) => UNIONS.has(keyword))) {
    const branchErrors = selected.filter((error) => isWithin(error, union))
    const relevant = findRelevantBranch(branchErrors, union)
    selected = selected.filter((error) =>
      branchErrors.includes(error) ? relevant?.includes(error) : error !== union || relevant === undefined,
    )
  }
  return selected
}

/** Keywords whose errors follow the more specific errors of a subschema. */
const SUMMARIES: ReadonlySet<string> = new Set(['if', 'propertyNames'])

/** Keywords whose errors follow those of every alternative, or of every item. */
const UNIONS: ReadonlySet<string> = new Set(['anyOf', 'oneOf', 'contains'])

function isWithin({ schemaPath, instancePath }: ErrorObject, union: ErrorObject): boolean {
  if (!schemaPath.startsWith(`${union.schemaPath}/`)) return false
  return instancePath === union.instancePath || instancePath.startsWith(`${union.instancePath}/`)
}

/** Returns the errors of the only branch for the value's type; undefined if there is not exactly one. */
function findRelevantBranch(errors: readonly ErrorObject[], union: ErrorObject): ErrorObject[] | undefined {
  if (union.keyword === 'contains' || union.params.passingSchemas) return undefined
  const branches = new Map<string, ErrorObject[]>()
  for (const error of errors) {
    const [branch = ''] = error.schemaPath.slice(union.schemaPath.length + 1).split('/', 1)
    branches.set(branch, [...(branches.get(branch) ?? []), error])
  }
  const isMismatch = ({ keyword, instancePath }: ErrorObject) =>
    instancePath === union.instancePath && (keyword === 'type' || UNIONS.has(keyword))
  const relevant = [...branches.values()].filter((branch) => !branch.some(isMismatch))
  return relevant.length === 1 ? relevant[0] : undefined
}

/**
 * Describes one error: the path of the field, then the constraint. `root` names the validated value in errors
 * that have no path.
 */
function describeError(error: ErrorObject, root: string): string {
  const path = fieldPath(error)
  const { keyword, params, propertyName } = error
  if (keyword === 'required') return `${joinPath(path, params.missingProperty)} is required`
  if (keyword === 'dependencies')
    return `${joinPath(path, params.missingProperty)} is required with ${joinPath(path, params.property)}`
  if (keyword === 'additionalProperties') {
    const name = String(params.additionalProperty)
    const nearest = findNearest(name, Object.keys(error.parentSchema?.properties ?? {}))
    const field = `unknown field "${name}"${nearest === undefined ? '' : ` (did you mean "${nearest}"?)`}`
    return path ? `${path} has the ${field}` : field
  }
  const field =
    propertyName === undefined ? path || root : `the field name "${propertyName}" in ${path || root}`
  return `${field} ${CONSTRAINTS[keyword]?.(error) ?? 'is not valid'}`
}

/** Wording by keyword: completes a sentence that starts with the field. */
const CONSTRAINTS: Readonly<Record<string, (error: ErrorObject) => string>> = {
  type: ({ params }) => `must be ${joinAlternatives([params.type].flat().map(describeType))}`,
  enum: ({ params }) => `must be one of ${params.allowedValues.map(formatValue).join(', ')}`,
  const: ({ params }) => `must be ${JSON.stringify(params.allowedValue)}`,
  minimum: describeRange,
  maximum: describeRange,
  exclusiveMinimum: describeRange,
  exclusiveMaximum: describeRange,
  multipleOf: ({ params }) => `must be a multiple of ${params.multipleOf}`,
  minLength: ({ params }) => describeMinimum(params.limit, 'character'),
  maxLength: ({ params }) => `must have at most ${count(params.limit, 'character')}`,
  minItems: ({ params }) => describeMinimum(params.limit, 'item'),
  maxItems: ({ params }) => `must have at most ${count(params.limit, 'item')}`,
  additionalItems: ({ params }) => `must have at most ${count(params.limit, 'item')}`,
  minProperties: ({ params }) => describeMinimum(params.limit, 'field'),
  maxProperties: ({ params }) => `must have at most ${count(params.limit, 'field')}`,
  uniqueItems: ({ params }) => `must not contain duplicates: items ${params.j} and ${params.i} are equal`,
  contains: ({ params }) => `must contain at least ${count(params.minContains, 'item')} of the required form`,
  pattern: ({ params }) => `must match the pattern ${params.pattern}`,
  format: ({ params }) => `must be a valid ${params.format}`,
  propertyNames: ({ params }) => `has the invalid field name "${params.propertyName}"`,
  not: () => 'has a value that is not allowed',
  if: () => 'has a combination of fields that is not allowed',
  anyOf: describeUnion,
  oneOf: (error) =>
    error.params.passingSchemas ? 'matches more than one of the allowed forms' : describeUnion(error),
  'false schema': () => 'is not allowed',
}

const TYPES: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  integer: 'an integer',
  boolean: 'true or false',
  array: 'an array',
  object: 'an object',
}

function describeType(type: string): string {
  return TYPES[type] ?? type
}

/** Strings without quotes. */
function formatValue(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** Both limits of the field, though only one was exceeded. */
function describeRange({ keyword, params, parentSchema }: ErrorObject): string {
  const schema: JsonObject = parentSchema ?? { [keyword]: params.limit }
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = schema
  if (minimum !== undefined && maximum !== undefined) return `must be between ${minimum} and ${maximum}`
  const limits = [
    minimum !== undefined && `at least ${minimum}`,
    exclusiveMinimum !== undefined && `greater than ${exclusiveMinimum}`,
    maximum !== undefined && `at most ${maximum}`,
    exclusiveMaximum !== undefined && `less than ${exclusiveMaximum}`,
  ]
  return `must be ${limits.filter(Boolean).join(' and ')}`
}

function describeMinimum(limit: number, unit: string): string {
  return limit === 1 ? 'must not be empty' : `must have at least ${count(limit, unit)}`
}

/** Names the types of the branches, if each branch has one. */
function describeUnion({ schema }: ErrorObject): string {
  const branches: readonly { readonly type?: unknown }[] = Array.isArray(schema) ? schema : []
  const types = [...new Set(branches.map(({ type }) => type))]
  const isDescribable = types.length > 1 && types.every((type) => typeof type === 'string')
  return isDescribable
    ? `must be ${joinAlternatives(types.map(describeType))}`
    : 'has none of the allowed forms'
}

function count(amount: number, unit: string): string {
  return `${amount} ${unit}${amount === 1 ? '' : 's'}`
}

/** "a, b or c". */
function joinAlternatives(list: readonly string[]): string {
  const last = list.at(-1) ?? ''
  return list.length < 2 ? last : `${list.slice(0, -1).join(', ')} or ${last}`
}

/** The path of the invalid field: `messages[0].role` for `/messages/0/role`; empty for the root. */
function fieldPath({ instancePath }: ErrorObject): string {
  return instancePath
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce((path, step) => (/^\d+$/.test(step) ? `${path}[${step}]` : joinPath(path, step)), '')
}

function joinPath(path: string, field: string): string {
  return path ? `${path}.${field}` : field
}
