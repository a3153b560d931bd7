import type { RunningGateway } from './gateway.ts'

/** POSTs a body and returns the response once its headers have arrived. */
export function post(
  gateway: RunningGateway,
  path: string,
  body: object,
  options: { headers?: Record<string, string>; signal?: AbortSignal } = {},
): Promise<Response> {
  const { headers, signal } = options
  return fetch(gateway.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.demoKey}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
    ...(signal && { signal }),
  })
}

/** The text of a streamed chat completion, with its SSE framing, as far as it arrives. */
export async function streamText(
  gateway: RunningGateway,
  body: object,
  headers: Record<string, string> = {},
): Promise<string> {
  return receivedText(await post(gateway, '/v1/chat/completions', { ...body, stream: true }, { headers }))
}

/** The text of a body, as far as it arrives: a stream that fails breaks off behind its error record. */
export async function receivedText({ body }: Response): Promise<string> {
  let text = ''
  try {
    for await (const chunk of body?.pipeThrough(new TextDecoderStream()) ?? []) text += chunk
  } catch (error) {
    if (!(error instanceof TypeError && error.message === 'terminated')) throw error
  }
  return text
}

/**
 * Starts a streamed chat completion, reads its first bytes, or until a text has arrived, and disconnects.
 */
export async function disconnectInMidStream(
  gateway: RunningGateway,
  body: object,
  awaited = '',
): Promise<void> {
  const controller = new AbortController()
  const { signal } = controller
  const response = await post(gateway, '/v1/chat/completions', { ...body, stream: true }, { signal })
  let text = ''
  try {
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += chunk
      if (text.includes(awaited)) controller.abort()
    }
  } catch (error) {
    if (!signal.aborted) throw error
  }
}

export interface StartedStream {
  /** Resolves once the stream has begun. */
  readonly begun: Promise<unknown>
  /** The text received, or "broken off: " and the reason. */
  readonly text: Promise<string>
}

/** Starts a streamed chat completion on a connection of its own. */
export function startStream(gateway: RunningGateway, body: object): StartedStream {
  const options = { headers: { connection: 'close' } }
  const begun = post(gateway, '/v1/chat/completions', { ...body, stream: true }, options)
  const text = begun.then((response) => response.text()).catch((error) => `broken off: ${error}`)
  return { begun, text }
}

/** Starts streams and resolves once all have begun. */
export async function startStreams(
  gateway: RunningGateway,
  count: number,
  body: object,
): Promise<readonly StartedStream[]> {
  const streams = Array.from({ length: count }, () => startStream(gateway, body))
  await Promise.all(streams.map(({ begun }) => begun))
  return streams
}

/** The texts of the streams, once all have ended. */
export const textsOf = (streams: readonly StartedStream[]) => Promise.all(streams.map(({ text }) => text))
