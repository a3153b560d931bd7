import { reconnect } from './connection.ts'
import type { CurrentConsoleSession } from './schemas.ts'
import { hasSessionEnded, session, signInOptions, startSession, waitForSignIn } from './session.ts'

/** The gateway, which serves the console one level below. */
export const GATEWAY = new URL('..', document.baseURI)

/** An error response, or a gateway that did not respond (status 0). */
export class ApiError extends Error {
  readonly status: number
  /** Issues by field, as sentences. */
  readonly issues: Readonly<Record<string, readonly string[]>>
  /** Empty if the gateway did not respond. */
  readonly requestId: string

  constructor(status: number, message: string, issues: ApiError['issues'] = {}, requestId = '') {
    super(message)
    this.status = status
    this.issues = issues
    this.requestId = requestId
  }
}

export function toError(thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return thrown
  return new ApiError(0, thrown instanceof Error ? thrown.message : String(thrown))
}

/** Stands in for what does not exist. */
export const orElse =
  <Value>(value: Value) =>
  (error: unknown): Value => {
    if (error instanceof ApiError && error.status === 404) return value
    throw error
  }

export type Query = Readonly<Record<string, unknown>>

export interface Page<Item> {
  readonly data: readonly Item[]
  readonly next_cursor: string | null
}

interface RequestOptions {
  readonly reason?: string | undefined
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

/** Returns the address of an endpoint, without the parameters that are empty. */
export function endpointUrl(path: string, query: Query = {}): string {
  const url = new URL(path.replace(/^\//, ''), GATEWAY)
  for (const [name, value] of Object.entries(query)) {
    for (const text of [value].flat()) {
      if (text !== undefined && text !== null && text !== '') url.searchParams.append(name, String(text))
    }
  }
  return url.href
}

/** Sends a request and returns the body of the response. Rejects with an `ApiError`. */
export async function send<Result>(
  method: string,
  path: string,
  body?: unknown,
  options: RequestOptions = {},
): Promise<Result> {
  return (await exchange<Result>(method, path, body, options)).body
}

/** Reads a body. */
export function read<Result>(path: string, query: Query = {}, signal?: AbortSignal): Promise<Result> {
  return send('GET', endpointUrl(path, query), undefined, signal && { signal })
}

/** Reads `data` of the response. */
export async function get<Result>(path: string, query: Query = {}): Promise<Result> {
  return (await read<{ data: Result }>(path, query)).data
}

/** Sends a body and returns `data` of the response. */
export async function post<Result>(path: string, body: object, options?: RequestOptions): Promise<Result> {
  return (await send<{ data: Result }>('POST', path, body, options)).data
}

/** An object as it was read, and the condition that a change of it sends. */
export interface Tagged<Result> {
  readonly value: Result
  readonly etag: string | null
}

/** Reads `data` of the response, with its ETag. */
export async function getTagged<Result>(path: string): Promise<Tagged<Result>> {
  const { body, etag } = await exchange<{ data: Result }>('GET', path, undefined, {})
  return { value: body.data, etag }
}

/** The header of a change to an object that must be as it was read, or must still not be there. */
export function ifUnchanged({ etag }: Tagged<unknown>): Readonly<Record<string, string>> {
  return etag === null ? { 'if-none-match': '*' } : { 'if-match': etag }
}

interface Exchange<Result> {
  readonly body: Result
  readonly etag: string | null
}

async function exchange<Result>(
  method: string,
  path: string,
  body: unknown,
  options: RequestOptions,
): Promise<Exchange<Result>> {
  const response = await openResponse(method, path, body, options)
  const text = await readText(response, method, options.signal)
  return { body: (parseJson(text) ?? text) as Result, etag: response.headers.get('etag') }
}

/**
 * Sends a request; once more if the session has ended, and the same person has signed in again. Returns the
 * response before its body. Rejects with an `ApiError`.
 */
export async function openResponse(
  method: string,
  path: string,
  body: unknown,
  options: RequestOptions,
  isRepeated = false,
): Promise<Response> {
  const { reason, headers = {}, signal } = options
  const url = path.startsWith('http') ? path : endpointUrl(path)
  const response = await fetch(url, {
    method,
    headers: {
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(method !== 'GET' && { 'x-csrf-token': session.value?.csrf_token ?? '' }),
      ...(reason && { 'x-change-reason': toHeaderValue(reason) }),
      ...headers,
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(signal && { signal }),
  }).catch((error: unknown) => {
    if (signal?.aborted) throw error
    throw disconnectedError(method)
  })
  if (response.ok) return response
  const content = parseJson(await readText(response, method, signal))
  // A proxy answers in place of a gateway that restarts.
  if (response.status >= 502 && content === undefined) throw disconnectedError(method)
  const isSignIn = headers.authorization !== undefined
  const canRepeat = response.status === 401 && !isSignIn && session.value && !isRepeated
  if (canRepeat && (await waitForSignIn(signal))) return openResponse(method, path, body, options, true)
  throw toApiError(response, content)
}

async function readText(
  response: Response,
  method: string,
  signal: AbortSignal | undefined,
): Promise<string> {
  try {
    return await response.text()
  } catch (error) {
    if (signal?.aborted) throw error
    throw disconnectedError(method)
  }
}

function disconnectedError(method: string): ApiError {
  reconnect(resumeSession)
  const advice =
    method === 'GET'
      ? 'Check that it runs, and try again.'
      : 'It may or may not have made the change: look before you try again.'
  return new ApiError(0, `The gateway does not respond. ${advice}`)
}

/** Reads who is signed in. */
export async function readSession(): Promise<CurrentConsoleSession> {
  return send('GET', '/console/session')
}

/** Goes on with the session that the browser has now, if it has one. */
export async function resumeSession(): Promise<void> {
  const { data, sign_in } = await readSession()
  signInOptions.value = sign_in
  if (data !== null) startSession(data)
  else if (session.value) hasSessionEnded.value = true
}

/** Header values are bytes: UTF-8, one character for each. */
function toHeaderValue(text: string): string {
  return String.fromCharCode(...new TextEncoder().encode(text.replace(/\s+/g, ' ').trim()))
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

interface ErrorBody {
  readonly error?: {
    readonly message?: string
    readonly errors?: ApiError['issues']
    readonly param?: string
  }
}

function toApiError({ status, headers }: Response, content: unknown): ApiError {
  const { error } = (content ?? {}) as ErrorBody
  const requestId = headers.get('x-request-id') ?? ''
  const message = error?.message ?? `The gateway answered with the status ${status}.`
  const issues = error?.errors ?? (error?.param ? { [error.param]: [message] } : {})
  return new ApiError(status, message, issues, requestId)
}
