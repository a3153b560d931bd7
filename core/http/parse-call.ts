import {
  type Endpoint,
  type EndpointDescription,
  GatewayError,
  isOptional,
  type JsonObject,
  StrictObject,
  type TProperties,
  type TSchema,
} from '../contract/index.ts'
import { createLazyParser, createLazyTypeGuard } from '../util/json-schema.ts'
import { requireJsonObject } from './read-body.ts'

type Values = Readonly<Record<string, unknown>>

/**
 * Returns a parser of path parameters. Throws the endpoint's 404 for a value that does not match its schema:
 * nothing can have such an id.
 */
export function createParamsParser({ params = {}, notFound }: Pick<Endpoint, 'params' | 'notFound'>) {
  const guards = Object.entries(params).map(
    ([name, schema]) => [name, schema, createLazyTypeGuard<unknown>(schema)] as const,
  )
  return (texts: Readonly<Record<string, string>>, path: string): Values => {
    const values: Record<string, unknown> = {}
    for (const [name, schema, isValid] of guards) {
      const text = texts[name] ?? ''
      values[name] = parseText(schema, text)
      if (!isValid(values[name])) throw notFound?.(text) ?? pathNotFoundError(path)
    }
    return values
  }
}

/** The 404 for a path that nothing is served at. `intended`: the path that the client probably means. */
export function pathNotFoundError(path: string, intended?: string): GatewayError {
  const advice =
    intended === undefined
      ? 'Check the path and the base URL.'
      : `Use ${intended}. Base URLs of OpenAI clients end with /v1, those of Anthropic clients do not.`
  return new GatewayError('not_found', `There is no endpoint at ${path}. ${advice}`)
}

/**
 * Returns a parser of query strings. It throws 400 for unknown, repeated and invalid parameters, because an
 * ignored filter would return something else than was asked for. See docs/decisions/http.md, "Endpoints are
 * declared, and everything follows from the declaration".
 */
export function createQueryParser({
  query = {},
  acceptsAnyQuery,
}: Pick<EndpointDescription, 'query' | 'acceptsAnyQuery'>) {
  if (acceptsAnyQuery) return parseTexts
  const parse = createLazyParser(StrictObject(query))
  return (queryString: string): Values => {
    if (queryString === '' && isAllOptional(query)) return {}
    const values = new Map<string, unknown>()
    for (const [key, text] of new URLSearchParams(queryString)) {
      const name = findParameter(query, key)
      const schema = query[name]
      if (schema === undefined) throw unknownParameterError(key, Object.keys(query))
      if (schema.type === 'array')
        values.set(name, [...Object(values.get(name) ?? []), parseText(schema.items, text)])
      else if (values.has(name)) throw repeatedParameterError(name)
      else values.set(name, parseText(schema, text))
    }
    return parse(Object.fromEntries(values))
  }
}

/** Throws 400 for repeated parameters. */
function parseTexts(queryString: string): Values {
  const values = new Map<string, string>()
  for (const [name, text] of new URLSearchParams(queryString)) {
    if (values.has(name)) throw repeatedParameterError(name)
    values.set(name, text)
  }
  return Object.fromEntries(values)
}

/** Arrays may be sent as `name[]`, the way OpenAI's clients do. */
function findParameter(query: TProperties, key: string): string {
  const name = key.endsWith('[]') && query[key.slice(0, -2)]?.type === 'array' ? key.slice(0, -2) : key
  return Object.hasOwn(query, name) ? name : ''
}

function isAllOptional(query: TProperties): boolean {
  return Object.values(query).every(isOptional)
}

function unknownParameterError(name: string, known: readonly string[]): GatewayError {
  const advice = known.length === 0 ? 'It takes none.' : `Use ${known.join(', ')}.`
  return invalidParameterError(name, `${name} is not a query parameter of this endpoint. ${advice}`)
}

function repeatedParameterError(name: string): GatewayError {
  return invalidParameterError(name, `${name} must not be given more than once.`)
}

/** The 400 for an invalid parameter. */
export function invalidParameterError(param: string, message: string): GatewayError {
  return new GatewayError('invalid_value', message, { param })
}

/** Integers of any other form than `12`, `-3` or `0` stay text, so that they do not match the schema. */
const INTEGER = /^(?:0|-?[1-9]\d{0,14})$/

const NUMBER = /^-?(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?$/

/** Converts the text of a parameter to the type of its schema if it has that form. */
function parseText(schema: TSchema | undefined, text: string): unknown {
  const isInteger = [schema?.type].flat().includes('integer')
  if (isInteger && INTEGER.test(text)) return Number(text)
  if (schema?.type === 'number' && NUMBER.test(text)) return Number(text)
  if (schema?.type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true'
  return text
}

/** Returns a parser of JSON bodies. It returns undefined if the body is optional and missing. */
export function createBodyParser({ body, parseBody }: Pick<Endpoint, 'body' | 'parseBody'>) {
  if (body === undefined) return () => undefined
  const parse: (body: JsonObject) => unknown = parseBody ?? createLazyParser(body)
  const mayBeMissing = isOptional(body)
  return (value: unknown): unknown => {
    if (value === undefined && mayBeMissing) return undefined
    return parse(requireJsonObject(value))
  }
}
