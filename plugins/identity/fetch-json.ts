import { isJsonObject, type JsonObject } from '../../core/contract/index.ts'
import { withinLimit } from '../../core/threads/timeout.ts'

const TIMEOUT_MS = 5000

/** A thousand keys are a fifth of it. */
const MAX_BYTES = 1_048_576

interface ReceivedText {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

/**
 * Sends a request to an identity provider. Rejects with an error that names the URL: after the timeout, for
 * redirects, and for more than a mebibyte. While many people sign in at once, the process may be too busy to
 * receive the answer; that time does not count. See `withinLimit`.
 */
export function fetchText(
  url: string,
  init: RequestInit,
  signal: AbortSignal,
  timeoutMs = TIMEOUT_MS,
): Promise<ReceivedText> {
  return withinLimit(timeoutMs, (limit) => fetchLimited(url, init, AbortSignal.any([signal, limit])))
}

async function fetchLimited(url: string, init: RequestInit, signal: AbortSignal): Promise<ReceivedText> {
  const response = await fetch(url, { ...init, redirect: 'error', signal }).catch((cause: unknown) =>
    fail(url, 'could not be reached', cause),
  )
  const text = await readLimited(url, response).catch((cause: unknown) =>
    cause instanceof IdentityDocumentError ? fail(url, cause.problem) : fail(url, 'broke off', cause),
  )
  return { status: response.status, headers: response.headers, text }
}

/**
 * Fetches a document of an identity provider. Rejects like `fetchText`, for other statuses than 200, and for
 * anything but a JSON object.
 */
export async function fetchJson(url: string, signal: AbortSignal): Promise<JsonObject> {
  const { status, text } = await fetchText(url, { headers: { accept: 'application/json' } }, signal)
  if (status !== 200) return fail(url, `answered with status ${status}`)
  try {
    const document: unknown = JSON.parse(text)
    if (isJsonObject(document)) return document
  } catch (cause) {
    return fail(url, 'is not JSON', cause)
  }
  return fail(url, 'is not a JSON object')
}

/** A document of an identity provider that cannot be used. */
export class IdentityDocumentError extends Error {
  readonly problem: string

  constructor(url: string, problem: string, options?: ErrorOptions) {
    super(`${url} ${problem}`, options)
    this.problem = problem
  }
}

function fail(url: string, problem: string, cause?: unknown): never {
  throw new IdentityDocumentError(url, problem, { cause })
}

async function readLimited(url: string, { body }: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of body ?? []) {
    length += chunk.length
    if (length > MAX_BYTES) fail(url, `is larger than ${MAX_BYTES} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}
