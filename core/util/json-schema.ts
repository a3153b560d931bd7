import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import { GatewayError, type JsonObject } from '../contract/index.ts'
import { lazy } from './lazy.ts'

/** Schemas of our own are sound: to look at them as well takes as long as to compile them. */
const ajv = new Ajv({ allowUnionTypes: true, validateSchema: false })
const THOROUGH = { allowUnionTypes: true, allErrors: true, verbose: true }
const thorough = new Ajv({ ...THOROUGH, validateSchema: false })
const foreign = lazy(() => new Ajv(THOROUGH))

/** A check by a JSON schema, compiled when it is first needed; only the first fault is looked for. */
export function createLazyTypeGuard<T>(schema: JsonObject): (value: unknown) => value is T {
  const check = lazy(() => ajv.compile<T>(schema))
  return (value): value is T => check()(value)
}

/** Compiles a schema of our own into a check that finds every fault: for input that operators write. */
export function compileValidator<T>(schema: JsonObject): ValidateFunction<T> {
  return thorough.compile<T>(schema)
}

/** The same for a schema of somebody else; throws what is wrong with it. */
export function compileUntrustedValidator<T>(schema: JsonObject): ValidateFunction<T> {
  return foreign().compile<T>(schema)
}

/** Compiles a schema into a reader that gives the value its type, or throws 400 naming the field and what is allowed. */
export function compileParser<T>(schema: JsonObject): (value: unknown) => T {
  const check = ajv.compile<T>(schema)
  return (value) => {
    if (check(value)) return value
    throw toGatewayError(check.errors?.[0])
  }
}

/** A `compileReader` that compiles when it is first needed: for all but inference. */
export function createLazyParser<T>(schema: JsonObject): (value: unknown) => T {
  const read = lazy(() => compileParser<T>(schema))
  return (value) => read()(value)
}

function toGatewayError(fault: ErrorObject | undefined): GatewayError {
  if (fault === undefined) return new GatewayError('invalid_value', 'The body is not valid.')
  const place = fieldName(fault.instancePath)
  if (fault.keyword === 'required') {
    const param = [place, fault.params.missingProperty].filter(Boolean).join('.')
    return new GatewayError('missing_parameter', `${param} is required.`, { param })
  }
  return new GatewayError('invalid_value', `${describeSchemaError(fault)}.`, place ? { param: place } : {})
}

/** A schema fault as words: the place, then what is allowed there. */
export function describeSchemaError(fault: ErrorObject): string {
  const place = fieldName(fault.instancePath) || 'the value'
  switch (fault.keyword) {
    case 'enum':
      return `${place} must be one of ${fault.params.allowedValues.join(', ')}`
    case 'const':
      return `${place} must be ${JSON.stringify(fault.params.allowedValue)}`
    case 'required':
      return `${[fieldName(fault.instancePath), fault.params.missingProperty].filter(Boolean).join('.')} is required`
    case 'additionalProperties':
      return `${place} has the unknown field ${fault.params.additionalProperty}`
    case 'type':
      return `${place} must be of type ${[fault.params.type].flat().join(' or ')}`
    default:
      return `${place} ${fault.message ?? 'is not valid'}`
  }
}

/** `/messages/0/role` as `messages[0].role`. */
function fieldName(pointer: string): string {
  return pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce((path, step) => (/^\d+$/.test(step) ? `${path}[${step}]` : path ? `${path}.${step}` : step), '')
}
